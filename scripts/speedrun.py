"""The command `seq2seq speedrun`, from a clone."""

import sys

from seq2seq.commands.speedrun import main

if __name__ == "__main__":
    sys.exit(main())
