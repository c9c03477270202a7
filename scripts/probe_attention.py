"""The command `seq2seq probe`, from a clone."""

import sys

from seq2seq.cli.probe import main

if __name__ == "__main__":
    main(sys.argv[1:])
