"""The command `seq2seq translate`, from a clone."""

import sys

from seq2seq.commands.translate import main

if __name__ == "__main__":
    sys.exit(main())
