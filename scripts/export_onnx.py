"""The command `seq2seq export onnx`, from a clone."""

import sys

from seq2seq.cli.export import main

if __name__ == "__main__":
    main(["onnx", *sys.argv[1:]])
