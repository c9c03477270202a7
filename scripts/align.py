"""The command `seq2seq align`, from a clone."""

import sys

from seq2seq.commands.align import main

if __name__ == "__main__":
    sys.exit(main())
