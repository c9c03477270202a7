"""Translate lines: seq2seq translate MODEL_OR_RUN_DIR < source.txt > translation.txt

One line out for each line in, in order; a blank line gives a blank line. On a terminal it asks for
sentences, and draws the attention below each translation. The input may be compressed, and of any
length:

    seq2seq translate RUN_DIR --input long.en.gz --output long.fr --resume
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from seq2seq.command_line.program import program_parser, refuse_same_file, run_program
from seq2seq.decoding.model_files import files_of_models
from seq2seq.decoding.resumable_output import (
    Pace,
    ResumableOutput,
    progress_of,
    translation_conditions,
)
from seq2seq.errors import InputError
from seq2seq.plain_text import one_line
from seq2seq.text.lines import stream_lines

if TYPE_CHECKING:
    from seq2seq.decoding.search import Search
    from seq2seq.decoding.translation import Translation
    from seq2seq.decoding.translator import Translator

CONDITIONS = (
    "beam", "n_best", "length_penalty", "alpha", "min_length", "max_length", "prune", "sample",
    "temperature", "top_k", "seed", "replace_unknown", "json", "batch_tokens", "window",
)  # fmt: skip
"""Options that must be the same where a translation is continued, beside the precision in use."""


def main() -> int:
    """Translate standard input or a file."""
    return run_program(_parser(), _translate)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    add = parser.add_argument
    add("model", type=Path, help="a run folder, or an exported model/ folder")
    add("--ensemble", type=Path, nargs="+", default=[], metavar="MODEL", help="average with these")
    add("--beam", type=int, default=5, metavar="K", help="hypotheses; 1: greedy (default: 5)")
    add("--n-best", type=int, default=1, metavar="N", help="print so many, at most the beam")
    add("--length-penalty", default="average", help="none, average or gnmt (default: average)")
    add("--alpha", type=float, default=0.6, help="exponent of the gnmt penalty (default: 0.6)")
    add("--min-length", type=float, default=0.0, metavar="R", help="tokens for a source token")
    add("--max-length", type=float, metavar="R", help="and 10 more (default: the model's)")
    add("--prune", type=float, metavar="NATS", help="drop what is so far below the best: faster")
    add("--sample", action="store_true", help="draw every token at random instead")
    add("--temperature", type=float, default=1.0, help="of sampling (default: 1.0)")
    add("--top-k", type=int, metavar="K", help="sample among the likeliest K tokens only")
    add("--seed", type=int, default=1, help="of sampling (default: 1)")
    add("--replace-unknown", action="store_true", help="<unk> becomes the source word attended to")
    add("--json", action="store_true", help="a JSON object a line: tokens, score, attention, …")
    add("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--precision", default="fp32", help="fp32, bf16 or auto: the faster one (default: fp32)")
    add("--batch-tokens", type=int, default=4096, metavar="N", help="padded batch size at most")
    add("--window", type=int, default=2048, metavar="N", help="lines sorted by length at a time")
    add("--input", type=Path, metavar="FILE", help="translate this instead of standard input")
    add("--output", type=Path, metavar="FILE", help="write here instead of to standard output")
    add("--resume", action="store_true", help="continue an interrupted --output; else begin")
    return parser


def _translate(arguments: argparse.Namespace) -> int:
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415 - torch, after --help

    _check(arguments)
    search = _search(arguments)
    translator = Translator.load(
        arguments.model,
        *arguments.ensemble,
        device=arguments.device,
        max_tokens=arguments.batch_tokens,
        precision=arguments.precision,
    )
    if arguments.input is None and sys.stdin.isatty() and sys.stdout.isatty():
        return _converse(translator, search, replace_unknown=arguments.replace_unknown)
    with _opened(arguments.input) as stream:
        if arguments.output is None:
            for _, text in _windows(arguments, translator, search, stream_lines(stream), 0):
                sys.stdout.buffer.write(_for_stdout(text).encode())
                sys.stdout.buffer.flush()
            return 0
        conditions = translation_conditions(
            [arguments.model, *arguments.ensemble],
            {name: getattr(arguments, name) for name in CONDITIONS}
            | {"precision": translator.precision},
        )
        with ResumableOutput(arguments.output, conditions, resume=arguments.resume) as output:
            lines = output.remaining(stream_lines(stream))
            for window in _windows(arguments, translator, search, lines, output.num_lines):
                output.add(*window)
            output.complete()
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.resume and arguments.output is None:
        raise InputError("--resume continues a file: give --output FILE")
    if arguments.window < 1:
        raise InputError(f"--window {arguments.window}: at least 1 line")
    models = files_of_models(arguments.model, *arguments.ensemble)
    written: dict[str, Path | int] = {"the output": 1}
    if arguments.output is not None:
        written = {"--output": arguments.output, "its .progress": progress_of(arguments.output)}
    refuse_same_file({"the input": arguments.input or 0, **models}, written)


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    """The input."""
    if path is None:
        yield sys.stdin.buffer
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check --input") from error
    with stream:
        yield stream


def _windows(
    arguments: argparse.Namespace,
    translator: "Translator",
    search: "Search",
    lines: Iterator[str],
    num_done: int,
) -> Iterator[tuple[list[str], str]]:
    """Lines, a window at a time, and what is to be written for them."""
    from seq2seq.decoding.translation import UnknownCount  # noqa: PLC0415 - torch, after --help

    unknown = UnknownCount()
    progress = Pace(num_done, shown=sys.stderr.isatty() and not sys.stdout.isatty())
    windows = translator.stream(
        lines,
        search=search,
        replace_unknown=arguments.replace_unknown,
        return_attention=arguments.json,
        window=arguments.window,
        first_number=num_done,
    )
    for read, found in windows:
        first = progress.num_lines + 1
        text = "".join(
            f"{_line(arguments, number, rank, translation)}\n"
            for number, translations in enumerate(found, start=first)
            for rank, translation in enumerate(translations, start=1)
        )
        yield read, text
        progress.add(len(read))
        unknown.add(translations[0] for translations in found)
    progress.end()
    for line in unknown.warnings():
        print(line, file=sys.stderr)


def _for_stdout(text: str) -> str:
    """Lines as they are, or fit for a terminal if there is one."""
    if not sys.stdout.isatty():
        return text
    return "".join(f"{one_line(line)}\n" for line in text.split("\n")[:-1])


def _search(arguments: argparse.Namespace) -> "Search":
    from seq2seq.decoding.search import search_from_options  # noqa: PLC0415 - torch, after --help

    names = ("temperature", "top_k", "seed")
    return search_from_options(
        beam=1 if arguments.sample else arguments.beam,
        num_best=arguments.n_best,
        length_penalty=arguments.length_penalty,
        alpha=arguments.alpha,
        min_length=arguments.min_length,
        max_length=arguments.max_length,
        prune=arguments.prune,
        sampling={n: getattr(arguments, n) for n in names} if arguments.sample else None,
    )


def _line(arguments: argparse.Namespace, number: int, rank: int, translation: "Translation") -> str:
    """What is printed of a translation."""
    if arguments.json:
        facts = {"line": number, "rank": rank} | translation.as_dict()
        return json.dumps(facts, ensure_ascii=False)
    if arguments.n_best == 1:
        return translation.text
    return f"{number} ||| {translation.text} ||| {translation.score:.4f}"


def _converse(translator: "Translator", search: "Search", *, replace_unknown: bool) -> int:
    """Ask for sentences until the input ends."""
    from seq2seq.pictures.terminal import draw_attention  # noqa: PLC0415 - after --help

    print("A sentence, or Ctrl-D to leave.")
    while (line := _asked()) is not None:
        (translations,) = translator.translate_n_best(
            [line], search=search, replace_unknown=replace_unknown
        )
        for best in translations:
            print(one_line(f"{best.text}   ({best.score:.2f})"))
            if note := best.unknown_note():
                print(one_line(note))
            width = shutil.get_terminal_size().columns
            if best.weights.numel():
                weights = best.weights.tolist()
                print(
                    draw_attention(weights, best.marked_source(), best.target_tokens, width=width)
                )
    print()
    return 0


def _asked() -> str | None:
    try:
        return input("> ")
    except EOFError:
        return None
