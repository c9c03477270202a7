"""The command `seq2seq data-report`, from a clone."""

import sys

from seq2seq.cli.data_report import main

if __name__ == "__main__":
    main(sys.argv[1:])
