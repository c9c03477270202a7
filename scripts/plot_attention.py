"""The command `seq2seq plot`, from a clone."""

import sys

from seq2seq.commands.plot import main

if __name__ == "__main__":
    sys.exit(main())
