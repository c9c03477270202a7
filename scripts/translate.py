"""The command `seq2seq translate`, from a clone."""

import sys

from seq2seq.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["translate", *sys.argv[1:]]))
