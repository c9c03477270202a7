"""The command `seq2seq export-onnx`, from a clone."""

import sys

from seq2seq.commands.export_onnx import main

if __name__ == "__main__":
    sys.exit(main())
