"""The command `seq2seq plot`, from a clone."""

import sys

from seq2seq.cli.plot import main

if __name__ == "__main__":
    main(sys.argv[1:])
