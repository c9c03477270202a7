"""Score a model: seq2seq evaluate MODEL_OR_RUN_DIR --source FILE --reference FILE

With several models it scores their ensemble. Scores of greedy search and of beam search, BLEU with
an interval (other sentences of the kind, drawn from these), and by source length and unknown words.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.command_line.program import program_parser, run_program

if TYPE_CHECKING:
    from seq2seq.decoding.scoring import Scored
    from seq2seq.decoding.translator import Translator
    from seq2seq.text.corpus import SentencePair


def main() -> int:
    """Translate the source file and score the translations."""
    return run_program(_parser(), _evaluate)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    add = parser.add_argument
    add("model", type=Path, nargs="+", help="a run folder, or an exported model/ folder")
    add("--source", type=Path, required=True, metavar="FILE", help="text, plain or compressed")
    add("--reference", type=Path, required=True, metavar="FILE", help="its translation")
    add("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--precision", default="fp32", help="fp32, bf16 or auto: the faster one (default: fp32)")
    add("--beam", type=int, default=5, metavar="K", help="hypotheses; 1: greedy alone (default: 5)")
    add("--length-penalty", default="average", help="none, average or gnmt (default: average)")
    add("--alpha", type=float, default=0.6, help="exponent of the gnmt penalty (default: 0.6)")
    add("--max-length", type=float, metavar="R", help="tokens for one (default: the model's bound)")
    add("--prune", type=float, metavar="NATS", help="drop what is so far below the best: faster")
    add("--json", action="store_true", help="print the scores as JSON")
    return parser


def _evaluate(arguments: argparse.Namespace) -> int:
    from seq2seq.text.corpus import read_parallel  # noqa: PLC0415 - after --help

    pairs = read_parallel(arguments.source, arguments.reference)

    from seq2seq.decoding.scoring import as_metrics, score_searches  # noqa: PLC0415
    from seq2seq.decoding.search import search_from_options  # noqa: PLC0415
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415
    from seq2seq.runs.seen_text import warn_of_seen  # noqa: PLC0415 - torch

    for line in warn_of_seen(arguments.model, pairs):
        print(line, file=sys.stderr)
    search = search_from_options(
        beam=arguments.beam,
        length_penalty=arguments.length_penalty,
        alpha=arguments.alpha,
        max_length=arguments.max_length,
        prune=arguments.prune,
    )
    translator = Translator.load(
        *arguments.model, device=arguments.device, precision=arguments.precision
    )
    scored = score_searches(translator, pairs, search, with_interval=True)
    if arguments.json:
        print(json.dumps(as_metrics(scored)))
    else:
        print(_tables(translator, pairs, scored))
    return 0


def _tables(
    translator: "Translator", pairs: "list[SentencePair]", scored: "dict[str, Scored]"
) -> str:
    from seq2seq.evaluation.buckets import (  # noqa: PLC0415 - after --help
        bucket_table,
        by_source_length,
        by_unknown_words,
    )
    from seq2seq.evaluation.score_card import score_table  # noqa: PLC0415

    name, last = list(scored.items())[-1]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    num_unknown = [len(translator.unknown_tokens(source)) for source in sources]
    language = translator.target_language
    lengths = by_source_length(sources, last.texts, references, language)
    tables = [
        score_table({title: each.card for title, each in scored.items()}),
        bucket_table(f"source words ({name})", lengths),
    ]
    if any(num_unknown):
        unknown = by_unknown_words(num_unknown, last.texts, references, language)
        tables.append(bucket_table(f"unknown words ({name})", unknown))
    return "\n\n".join(tables)
