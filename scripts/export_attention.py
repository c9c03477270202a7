"""The command `seq2seq export-attention`, from a clone."""

import sys

from seq2seq.commands.export_attention import main

if __name__ == "__main__":
    sys.exit(main())
