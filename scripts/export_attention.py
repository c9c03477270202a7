"""The command `seq2seq export attention`, from a clone."""

import sys

from seq2seq.cli.export import main

if __name__ == "__main__":
    main(["attention", *sys.argv[1:]])
