"""The command `seq2seq align`, from a clone."""

import sys

from seq2seq.cli.align import main

if __name__ == "__main__":
    main(sys.argv[1:])
