"""The command `seq2seq probe-attention`, from a clone."""

import sys

from seq2seq.commands.probe_attention import main

if __name__ == "__main__":
    sys.exit(main())
