"""Score a model: ``seq2seq evaluate MODEL --source FILE --reference FILE``, or ``seq2seq evaluate RUN``

Without files it scores the test split of the run, with the options of the search that are given. With several models
it scores their ensemble. Scores of greedy search and of beam search, BLEU with an
interval, and by source length and unknown words.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from seq2seq.cli.main import (
    LENGTH_PENALTIES,
    MODEL_HELP,
    PRECISIONS,
    count,
    device,
    input_file,
    model,
    parser_of,
)
from seq2seq.common.progress import announce
from seq2seq.data.text import read_parallel
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Translate the source file and score the translations."""
    parser = parser_of("evaluate", __doc__)
    add = parser.add_argument
    add("model", type=model, nargs="+", help=MODEL_HELP)
    add(
        "--source",
        type=input_file,
        metavar="FILE",
        help="source text, plain or compressed (default: the run's)",
    )
    add("--reference", type=input_file, metavar="FILE", help="its translation")
    add("--device", type=device, default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--precision", default="fp32", choices=PRECISIONS, help="of the computation (default: fp32)")
    add("--beam-size", type=count, default=5, metavar="K", help="hypotheses; 1: greedy alone (default: 5)")
    add("--length-penalty", default="average", choices=LENGTH_PENALTIES, help="default: average")
    add(
        "--length-penalty-alpha", type=float, default=0.6, metavar="A", help="exponent of gnmt (default: 0.6)"
    )
    add("--max-ratio", type=float, metavar="R", help="maximum target tokens per source token, plus 10")
    add(
        "--beam-threshold",
        type=float,
        metavar="NATS",
        help="prune hypotheses this far below the best: faster",
    )
    add("--json", action="store_true", help="print the scores as JSON")
    add("--to", metavar="LANGUAGE", help="translate into it, with a model of several languages")
    add("--trust-custom-code", action="store_true", help="import classes that the model folder names")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        _evaluate(options)


def _files(options: argparse.Namespace) -> tuple[Path, Path]:
    """Return the files that are given, or those of the split that the run kept.

    Raises:
        InputError: One of two is given, or the model has no split.
    """
    if options.source is not None and options.reference is not None:
        return options.source, options.reference
    if options.source is not None or options.reference is not None:
        raise InputError("give both, --source FILE and --reference FILE, or neither")
    if options.to is not None:
        raise InputError(
            "--to needs --source FILE and --reference FILE: the run's own sentences name their languages"
        )
    folder = options.model[0] / "predictions"
    split = "test" if (folder / "test.source.txt").is_file() else "val"
    if not (folder / f"{split}.source.txt").is_file():
        raise InputError(f"{options.model[0]} holds no test split: give --source FILE and --reference FILE")
    return folder / f"{split}.source.txt", folder / f"{split}.reference.txt"


def _evaluate(options: argparse.Namespace) -> None:
    source, reference = _files(options)
    pairs = read_parallel(source, reference)

    from seq2seq.decoding.scoring import as_metrics, score_searches
    from seq2seq.decoding.search import search_from_options
    from seq2seq.decoding.translator import Translator
    from seq2seq.evaluation.score_card import bucket_table, by_source_length, by_unknown_words, score_table

    search = search_from_options(
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        length_penalty_alpha=options.length_penalty_alpha,
        max_length=options.max_ratio,
        prune=options.beam_threshold,
    )
    translator = Translator.load(
        *options.model,
        device=options.device,
        precision=options.precision,
        to=options.to,
        trust_custom_code=options.trust_custom_code,
    )
    if translator.target_language == "mul" and options.source is not None:
        raise InputError("this model translates into several languages: choose one with --to")
    num_unknown = [len(translator.unknown_tokens(pair.source)) for pair in pairs]
    share = sum(num_unknown) / max(1, sum(len(pair.source.split()) for pair in pairs))
    if share > 0.5:
        print(
            f"WARNING: {share:.0%} of the source words are unknown to the model: is {source} in the "
            f"model's source language, and not exchanged with {reference}?",
            file=sys.stderr,
        )
    announce(f"translating {len(pairs):,} sentences")
    scored = score_searches(translator, pairs, search, with_interval=True)
    if options.json:
        print(json.dumps(as_metrics(scored)))
        return
    name, last = list(scored.items())[-1]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    language = translator.target_language
    print(score_table({title: each.card for title, each in scored.items()}), end="\n\n")
    lengths = by_source_length(sources, last.texts, references, language)
    print(bucket_table(f"source words ({name})", lengths))
    if any(num_unknown):
        unknown = by_unknown_words(num_unknown, last.texts, references, language)
        print("\n" + bucket_table(f"unknown words ({name})", unknown))
