"""Translate lines: python scripts/translate.py MODEL_OR_RUN_DIR < source.txt > translation.txt

One line out for each line in, in order; a blank line gives a blank line.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from seq2seq.errors import InputError


def main() -> int:
    """Translate standard input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    parser.add_argument(
        "--batch-tokens", type=int, default=4096, metavar="N", help="padded batch size at most"
    )
    arguments = parser.parse_args()
    try:
        return _translate(arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _translate(arguments: argparse.Namespace) -> int:
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415 - torch, after --help

    translator = Translator.load(
        arguments.model, device=arguments.device, max_tokens=arguments.batch_tokens
    )
    for translation in translator.stream(_lines()):
        sys.stdout.buffer.write(f"{translation.text}\n".encode())
    sys.stdout.buffer.flush()
    return 0


def _lines() -> Iterator[str]:
    r"""Lines of standard input; they end at \n only, and bytes that are not UTF-8 are marked."""
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", errors="replace").rstrip("\r\n")


if __name__ == "__main__":
    sys.exit(main())
