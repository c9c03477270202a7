"""Align words: ``seq2seq align MODEL --source FILE --target FILE > links.txt``

Prints a line of links SOURCE-TARGET for each pair (Pharaoh format). Words are separated by white space and counted
from 0. The links come from the attention of forced decoding and, with the default --method, from word co-occurrence
in both files, so that they depend on the rest of the text. With --gold the alignment error rate is printed to
standard error, with the minimum that the tokens allow.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.cli.main import MODEL_HELP, count, device, input_file, model, parser_of
from seq2seq.common.progress import announce
from seq2seq.data.text import SentencePair, read_parallel
from seq2seq.errors import InputError
from seq2seq.evaluation.agreement import agreed_weights
from seq2seq.evaluation.alignment import (
    AlignmentCounts,
    GoldAlignment,
    Links,
    Symmetrization,
    argmax_links,
    best_links,
    format_links,
    links_between,
    read_pharaoh,
    require_within,
    reversed_links,
    symmetrized,
    threshold_links,
)
from seq2seq.run.messages import exit_on_error

if TYPE_CHECKING:
    from seq2seq.decoding.aligner import WordAttention

METHODS = ("agreement", "argmax", "threshold", "intersection", "union")


def main(arguments: Sequence[str]) -> None:
    """Print the alignment of two files."""
    parser = parser_of("align", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("--source", type=input_file, required=True, help="text, plain or compressed")
    add("--target", type=input_file, required=True, help="its translation")
    add("--gold", type=input_file, help="links in Pharaoh format; possible ones as i?j")
    add("--reverse", type=model, metavar="MODEL", help="a model of the other direction")
    add(
        "--method",
        choices=METHODS,
        default="agreement",
        help="agreement: by attention and the words of both files; argmax: the most attended source word of "
        "each target word; threshold: all with a weight of --threshold; intersection, union: argmax of both "
        "models (default: agreement)",
    )
    add("--threshold", type=float, default=0.4, help="minimum weight of a link (default: 0.4)")
    add("--device", type=device, default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--max-tokens", type=count, default=4096, metavar="N", help="maximum padded tokens in a batch")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        _align(options)


def _align(arguments: argparse.Namespace) -> None:
    has_reverse, method = arguments.reverse is not None, arguments.method
    if method != "agreement" and has_reverse != (method in {"intersection", "union"}):
        raise InputError(
            "--method intersection and union need --reverse MODEL, argmax and threshold take none"
        )
    if not arguments.threshold >= 0:
        raise InputError(f"--threshold {arguments.threshold}: a weight is at least 0")

    pairs = read_parallel(arguments.source, arguments.target)
    gold = None if arguments.gold is None else _gold(arguments.gold, pairs)
    announce(f"aligning {len(pairs):,} sentence pairs")
    found = _attention(arguments, pairs)
    if method == "agreement":
        texts = [(pair.source.split(), pair.target.split()) for pair in pairs]
        models = ([each.weights for each in model] for model in zip(*found, strict=True))
        links = [argmax_links(each) for each in agreed_weights(texts, *models)]
    else:
        links = [_links(arguments, *each) for each in found]

    for pair_links in links:
        sys.stdout.write(f"{format_links(pair_links)}\n")
    sys.stdout.flush()
    if gold is not None:
        least = [
            _lowest_possible(arguments, alignment, *each) for alignment, each in zip(gold, found, strict=True)
        ]
        print(_report(links, least, gold), file=sys.stderr)


def _gold(path: Path, pairs: list[SentencePair]) -> list[GoldAlignment]:
    gold = read_pharaoh(path)
    if len(gold) != len(pairs):
        raise InputError(f"{path} has {len(gold):,} lines for {len(pairs):,} sentence pairs")
    for number, (alignment, pair) in enumerate(zip(gold, pairs, strict=True), start=1):
        sizes = len(pair.source.split()), len(pair.target.split())
        require_within(alignment, *sizes, f"{path}, line {number}")
    return gold


def _attention(arguments: argparse.Namespace, pairs: list[SentencePair]) -> "list[tuple[WordAttention, ...]]":
    """Return the attention of each pair by the model and, if given, by --reverse."""
    announce("loading PyTorch and the model")
    from seq2seq.decoding.aligner import word_attention

    options = {"device": arguments.device, "max_tokens": arguments.max_tokens}
    found = [word_attention(arguments.model, pairs, **options)]
    if arguments.reverse is not None:
        swapped = [SentencePair(pair.target, pair.source) for pair in pairs]
        found.append(word_attention(arguments.reverse, swapped, **options))
    return list(zip(*found, strict=True))


def _links(arguments: argparse.Namespace, forward: "WordAttention", *backward: "WordAttention") -> Links:
    if arguments.method == "threshold":
        return threshold_links(forward.weights, arguments.threshold)
    links = argmax_links(forward.weights)
    return _joined(arguments, links, [argmax_links(each.weights) for each in backward])


def _lowest_possible(
    arguments: argparse.Namespace, gold: GoldAlignment, forward: "WordAttention", *backward: "WordAttention"
) -> Links:
    """Return the links with the minimum error rate that the tokens allow."""
    if arguments.method == "agreement":  # which links words without tokens, too
        return best_links(gold, *map(range, reversed(forward.weights.shape)))
    if arguments.method == "argmax":
        return best_links(gold, forward.source_words, forward.target_words)
    links, *others = (
        links_between(possible, each.source_words, each.target_words)
        for possible, each in zip(
            (gold.possible, reversed_links(gold.possible)), (forward, *backward), strict=False
        )
    )
    return _joined(arguments, links, others)


def _joined(arguments: argparse.Namespace, links: Links, backward: list[Links]) -> Links:
    """Combine the links of one or two models by --method."""
    for other in backward:
        links = symmetrized(links, reversed_links(other), Symmetrization(arguments.method))
    return links


def _report(links: list[Links], least: list[Links], gold: list[GoldAlignment]) -> str:
    counts, best = (sum(map(AlignmentCounts.of, each, gold), AlignmentCounts()) for each in (links, least))
    return (
        f"AER {counts.error_rate:.3f} (at least {best.error_rate:.3f} with these tokens)   "
        f"precision {counts.precision:.3f}   recall {counts.recall:.3f}   "
        f"({len(gold):,} sentence pairs)"
    )
