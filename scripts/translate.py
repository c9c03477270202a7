"""The command `seq2seq translate`, from a clone."""

import sys

from seq2seq.cli.translate import main

if __name__ == "__main__":
    main(sys.argv[1:])
