"""The command `seq2seq export-page`, from a clone."""

import sys

from seq2seq.commands.export_page import main

if __name__ == "__main__":
    sys.exit(main())
