"""The command `seq2seq kernel-regression`, from a clone."""

import sys

from seq2seq.commands.kernel_regression import main

if __name__ == "__main__":
    sys.exit(main())
