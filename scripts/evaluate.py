"""The command `seq2seq evaluate`, from a clone."""

import sys

from seq2seq.commands.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
