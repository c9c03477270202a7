"""The command `seq2seq claim`, from a clone."""

import sys

from seq2seq.commands.claim import main

if __name__ == "__main__":
    sys.exit(main())
