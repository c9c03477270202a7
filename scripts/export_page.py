"""The command `seq2seq export page`, from a clone."""

import sys

from seq2seq.cli.export import main

if __name__ == "__main__":
    main(["page", *sys.argv[1:]])
