"""The command `seq2seq compare`, from a clone."""

import sys

from seq2seq.commands.compare import main

if __name__ == "__main__":
    sys.exit(main())
