"""Translate lines: ``seq2seq translate MODEL < source.txt > translation.txt``, or ``seq2seq translate MODEL "A sentence."``

Writes one line for each line read, in the same order; a blank line stays blank. Without text, a terminal is asked for
sentences; below each translation stand its log-probability, its unknown words and its attention.
"""

import argparse
import contextlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from seq2seq.cli.main import (
    LENGTH_PENALTIES,
    MODEL_HELP,
    PRECISIONS,
    check_output,
    count,
    device,
    input_file,
    model,
    parser_of,
)
from seq2seq.cli.terminal import LEGEND, matrix_lines
from seq2seq.data.text import read_lines, stream_lines
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error

if TYPE_CHECKING:
    from seq2seq.decoding.search import Search
    from seq2seq.decoding.translation import Translation


def main(arguments: Sequence[str]) -> None:
    """Translate standard input or a file."""
    parser = parser_of("translate", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("sentences", nargs="*", metavar="SENTENCE", help="translate these in place of standard input")
    add("--ensemble", type=model, nargs="+", default=[], metavar="MODEL", help="average with these models")
    add("--beam-size", type=count, default=5, metavar="K", help="hypotheses; 1: greedy (default: 5)")
    add(
        "--n-best",
        type=count,
        default=1,
        metavar="N",
        help="print N translations of each line, at most the beam size",
    )
    add("--length-penalty", default="average", choices=LENGTH_PENALTIES, help="default: average")
    add(
        "--length-penalty-alpha", type=float, default=0.6, metavar="A", help="exponent of gnmt (default: 0.6)"
    )
    add("--min-ratio", type=float, metavar="R", help="minimum target tokens per source token")
    add("--max-ratio", type=float, metavar="R", help="maximum, with 10 tokens more (default: the model's)")
    add(
        "--beam-threshold",
        type=float,
        metavar="NATS",
        help="prune hypotheses this far below the best: faster",
    )
    add("--sample", action="store_true", help="sample every token instead of searching")
    add("--temperature", type=float, default=1.0, help="temperature of sampling (default: 1.0)")
    add("--top-k", type=count, metavar="K", help="sample from the K most probable tokens")
    add("--seed", type=int, default=1, help="seed of sampling (default: 1)")
    add("--prefix", type=input_file, metavar="FILE", help="a prefix for each translation, one per line")
    add("--replace-unk", action="store_true", help="replace <unk> by the most attended source word")
    add("--json", action="store_true", help="print one JSON object per line: tokens, score, attention, …")
    add("--device", type=device, default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--precision", default="fp32", choices=PRECISIONS, help="of the computation (default: fp32)")
    add("--max-tokens", type=count, default=4096, metavar="N", help="maximum padded tokens in a batch")
    add(
        "--buffer-size",
        type=count,
        default=2048,
        metavar="N",
        help="lines read and sorted by length at a time",
    )
    add("--input", type=input_file, metavar="FILE", help="translate this file instead of standard input")
    add("-o", "--output", type=Path, metavar="FILE", help="write to this file instead of standard output")
    add("--resume", action="store_true", help="continue after the lines that --output has")
    add("--to", metavar="LANGUAGE", help="target language, for a model of several languages")
    add("--trust-custom-code", action="store_true", help="import classes that the model folder names")
    options = parser.parse_intermixed_args(list(arguments))
    with exit_on_error():
        _translate(options)


def _translate(options: argparse.Namespace) -> None:
    if options.resume and (options.output is None or options.n_best > 1):
        raise InputError("--resume needs --output FILE and a line for each sentence")
    if options.sentences and options.input is not None:
        raise InputError(f"give sentences or --input {options.input}, not both")
    check_output(options.output, options.input)

    from seq2seq.decoding.translation import UnknownCount
    from seq2seq.decoding.translator import Translator

    search = _search(options)
    translator = Translator.load(
        options.model,
        *options.ensemble,
        device=options.device,
        max_tokens=options.max_tokens,
        precision=options.precision,
        to=options.to,
        trust_custom_code=options.trust_custom_code,
    )
    if translator.target_language == "mul":
        raise InputError("this model translates into several languages: choose one with --to")
    done = keep_whole_lines(options.output) if options.resume and options.output.exists() else 0
    asks = options.input is None and not options.sentences and sys.stdin.isatty()
    lines = (
        _asked() if asks else iter(options.sentences) if options.sentences else stream_lines(options.input)
    )
    if len(list(islice(lines, done))) < done:
        raise InputError(
            f"--resume: {options.output} has {done:,} lines, more than the input: is it of another text?"
        )
    common: dict[str, Any] = {"search": search, "replace_unk": options.replace_unk, "first_number": done,
                              "return_attention": options.json or asks}  # fmt: skip
    if options.prefix is None:
        windows = translator.stream(lines, window=1 if asks else options.buffer_size, **common)
    else:
        sentences = list(lines)
        prefixes = _prefixes(options, sentences, done)
        windows = iter([(sentences, translator.translate_n_best(sentences, prefixes=prefixes, **common))])
    unknown, number = UnknownCount(), done
    with contextlib.ExitStack() as stack:
        output: IO[str] = sys.stdout
        if options.output is not None:
            mode = "a" if options.resume else "w"
            output = stack.enter_context(options.output.open(mode, encoding="utf-8", newline="\n"))
        for _, found in windows:
            for translations in found:
                number += 1
                output.writelines(f"{line}\n" for line in _written(options, number, translations))
            output.flush()
            for translations in found if asks else ():
                print("\n".join(_facts(translations[0])), file=sys.stderr)
            unknown.add(translations[0] for translations in found)
    warnings = [] if asks else unknown.warnings()
    if options.replace_unk and warnings and not translator.num_replaced:
        warnings.append(
            "WARNING: --replace-unk replaced nothing, because the model wrote no <unk>. A model learns to write it from "
            "rare words of its training text: train with data.tokenizer.min_frequency=2"
        )
    for line in warnings:
        print(line, file=sys.stderr)


def _search(options: argparse.Namespace) -> "Search":
    from seq2seq.decoding.search import search_from_options

    sampling = {"temperature": options.temperature, "top_k": options.top_k, "seed": options.seed}
    return search_from_options(
        beam_size=1 if options.sample else options.beam_size,
        num_best=options.n_best,
        length_penalty=options.length_penalty,
        length_penalty_alpha=options.length_penalty_alpha,
        min_length=options.min_ratio,
        max_length=options.max_ratio,
        prune=options.beam_threshold,
        sampling=sampling if options.sample else None,
    )


def _prefixes(options: argparse.Namespace, sentences: Sequence[str], done: int) -> list[str]:
    prefixes = read_lines(options.prefix)
    if len(prefixes) != done + len(sentences):
        raise InputError(f"{options.prefix} has {len(prefixes)} lines for {done + len(sentences)} sentences")
    return prefixes[done:]


def _written(
    options: argparse.Namespace, number: int, translations: Sequence["Translation"]
) -> Iterator[str]:
    """Yield the output lines of the translations of a line."""
    for rank, translation in enumerate(translations, start=1):
        if options.json:
            facts = {"line": number, "rank": rank} | translation.as_dict()
            yield json.dumps(facts, ensure_ascii=False)
        elif options.n_best > 1:
            yield f"{number} ||| {translation.text} ||| {translation.score:.4f}"
        else:
            yield translation.text


def _facts(translation: "Translation") -> Iterator[str]:
    """Yield what is shown below a translation on a terminal; nothing below a blank one."""
    if translation.target_tokens:
        yield f"log-probability {translation.score:.2f}, {translation.score / len(translation.target_tokens):.2f} a token"
        if note := translation.unknown_note():
            yield note
        if translation.weights.numel():
            width = shutil.get_terminal_size().columns
            weights = translation.weights.float().tolist()
            yield from matrix_lines(weights, translation.marked_source(), translation.target_tokens, width)


def keep_whole_lines(path: Path) -> int:
    """Cut what follows the last line end of a file; return the number of its lines. What is kept is not written again.

    Raises:
        InputError: It is no regular file.
    """
    if not path.is_file():
        raise InputError(f"--resume needs an output file, not {path}")
    count = end = position = 0
    with path.open("r+b") as file:
        while chunk := file.read(1 << 20):
            count += chunk.count(b"\n")
            end = position + chunk.rfind(b"\n") + 1 if b"\n" in chunk else end
            position += len(chunk)
        if end < position:
            file.truncate(end)
    return count


def _asked() -> Iterator[str]:
    """Ask for sentences until the input ends."""
    print(f"A sentence, or Ctrl-D to leave.\n{LEGEND}", file=sys.stderr)
    while True:
        try:
            yield input("> ")
        except EOFError:
            return
