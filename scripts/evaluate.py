"""The command `seq2seq evaluate`, from a clone."""

import sys

from seq2seq.cli.evaluate import main

if __name__ == "__main__":
    main(sys.argv[1:])
