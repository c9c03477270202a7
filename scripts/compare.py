"""The command `seq2seq compare`, from a clone."""

import sys

from seq2seq.cli.compare import main

if __name__ == "__main__":
    main(sys.argv[1:])
