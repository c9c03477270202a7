"""The command `seq2seq record-attention`, from a clone."""

import sys

from seq2seq.cli.record_attention import main

if __name__ == "__main__":
    main(sys.argv[1:])
