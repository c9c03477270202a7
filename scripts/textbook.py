"""The command `seq2seq textbook`, from a clone."""

import sys

from seq2seq.commands.textbook import main

if __name__ == "__main__":
    sys.exit(main())
