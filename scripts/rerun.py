"""The command `seq2seq rerun`, from a clone."""

import sys

from seq2seq.commands.rerun import main

if __name__ == "__main__":
    sys.exit(main())
