"""Score a model: python scripts/evaluate.py MODEL_OR_RUN_DIR --source FILE --reference FILE"""

import argparse
import json
import sys
from pathlib import Path

from seq2seq.errors import InputError


def main() -> int:
    """Translate the source file and score the translations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    arguments = parser.parse_args()
    try:
        return _evaluate(arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _evaluate(arguments: argparse.Namespace) -> int:
    from seq2seq.text.corpus import read_parallel  # noqa: PLC0415 - after --help

    pairs = read_parallel(arguments.source, arguments.reference)

    from seq2seq.decoding.translator import Translator  # noqa: PLC0415 - torch, after the files
    from seq2seq.evaluation.score_card import score_card  # noqa: PLC0415

    translator = Translator.load(arguments.model, device=arguments.device)
    translations = translator.translate([pair.source for pair in pairs])
    card = score_card([t.text for t in translations], [pair.target for pair in pairs])
    print(json.dumps(card.as_dict()) if arguments.json else card.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
