"""The command `seq2seq log-attention`, from a clone."""

import sys

from seq2seq.commands.log_attention import main

if __name__ == "__main__":
    sys.exit(main())
