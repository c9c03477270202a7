"""The command `seq2seq train`, from a clone."""

import sys

from seq2seq.commands.train import main

# bash, asked to complete `python train.py`, looks for this word in it: @hydra.main
if __name__ == "__main__":
    sys.exit(main())
