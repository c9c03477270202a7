"""The command that translates lines, sentences, or what is typed on a terminal."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from seq2seq.cli.api import Run
from seq2seq.cli.options import Count, File, Model, Output, Sentence
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, counted, warn
from seq2seq.data.text import stream_lines

if TYPE_CHECKING:
    from seq2seq.decoding.translation import Translation


def translate(
    model: Model,
    sentences: Sequence[Sentence] = (),
    *,
    source: File | None = None,
    output: Output | None = None,
    json: bool = False,
    buffer_size: Count = 2048,
    trust_custom_code: bool = False,
    **options: Annotated[Any, Run.translate],
) -> None:
    """Translate lines: ``seq2seq translate MODEL < source.txt > translation.txt``, or ``seq2seq translate MODEL "A sentence."``

    Writes one line for each line read, in the same order; a blank line stays blank. Without text, a terminal is
    asked for sentences; below each translation stand its log-probability, its unknown words and its attention.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        sentences: Translate these in place of standard input.
        source: Translate this file in place of standard input.
        output: Write to this file in place of standard output.
        json: Print one JSON object per line: tokens, score, attention, …
        buffer_size: Lines read and sorted by length at a time.
        trust_custom_code: Import classes that the model folder names.
        **options: Those of `Run.translate`.
    """
    if sentences and source is not None:
        raise InputError(f"give sentences or --source {source}, not both")
    if output is not None and output.is_file() and _is_read(output, source, sentences):
        raise InputError(f"{output} is the source, too: give another output")
    if output is None and sys.stdout is None:
        raise InputError("standard output is closed: give --output FILE")
    asks = source is None and not sentences and sys.stdin is not None and sys.stdin.isatty()
    run = Run(model, trust_custom_code=trust_custom_code)
    run.translate([], **options)  # what is wrong is said before a sentence is asked for, or a file is opened

    from seq2seq.decoding.translation import UnknownCount

    lines = _asked() if asks else as_typed(sentences) if sentences else stream_lines(source)
    if sys.stderr.isatty() and source is not None and Path(source).is_file():
        announce(f"translating {counted(sum(1 for _ in stream_lines(source)), 'line')}")
    number, guesses, size, unknown = 0, list[int](), 1 if asks else buffer_size, UnknownCount()
    written = None if output is None else output.open("w", encoding="utf-8", newline="\n")
    with nullcontext(sys.stdout) if written is None else written as file:
        while window := list(islice(lines, size)):
            found = run.translate(window, None, number, json or asks, **options)
            for each in found:
                number += each.rank == 1
                guesses += [number] if each.rank == 1 and each.is_guess else []
                file.write(f"{_line(number, each, json=json, n_best=options['n_best'])}\n")
            file.flush()
            for line in _facts(found[0], run.knows) if asks else ():
                print(line, file=sys.stderr)
            unknown.add(each for each in found if each.rank == 1)
    warnings = [] if asks else unknown.warnings()
    if options["replace_unk"] and warnings and not run.num_replaced:
        warnings.append(
            "WARNING: --replace-unk replaced nothing, because the model wrote no <unk>. A model learns to write it from "
            "rare words of its training text: train with data.tokenizer.min_frequency=2"
        )
    for line in warnings:
        print(line, file=sys.stderr)
    if guesses and run.knows and not asks:
        warn(run.knows.warning(guesses, counted(number, "line")))


def _is_read(output: Path, source: str | Path | None, sentences: Sequence[str]) -> bool:
    """Return whether the output is the file that is read, by name or as standard input."""
    if source is not None or sentences:
        return source is not None and output.samefile(source)
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), output.stat())
    except (AttributeError, OSError, ValueError):  # there is none, or it is no file
        return False


def _line(number: int, translation: "Translation", *, json: bool, n_best: int) -> str:
    """Return the output line of a translation of line `number`."""
    if json:
        return dumps({"line": number, "rank": translation.rank} | translation.as_dict(), ensure_ascii=False)
    if n_best > 1:
        return f"{number} ||| {translation.text} ||| {translation.score:z.4f}"
    return translation.text


def _facts(translation: "Translation", knows: Any) -> Iterator[str]:
    """Yield what is shown below a translation on a terminal; nothing below a blank one."""
    if translation.target_tokens:
        from seq2seq.cli.terminal import matrix_lines

        yield f"log-probability {translation.score:z.2f}, {translation.confidence:z.2f} a token"
        if translation.is_guess and knows:
            yield f"[a guess: the model knows text such as {knows.quoted()}]"
        if note := translation.unknown_note():
            yield note
        if translation.weights.numel():
            width = shutil.get_terminal_size().columns
            weights = translation.weights.float().tolist()
            yield from matrix_lines(weights, translation.marked_source(), translation.target_tokens, width)


def as_typed(sentences: Sequence[str]) -> Iterator[str]:
    """Return the sentences of the command line, with a warning if they look like the words of one."""
    if len(sentences) > 1 and not any(re.search(r"\s|[.!?…。！？]$", each) for each in sentences[:-1]):
        warn("each argument is a sentence: put quotation marks around a sentence of several words")
    for each in sentences:
        if re.fullmatch(r"\S+/\S+\.\w{1,5}|\S+\.([a-z]{2}|txt|tsv|csv|gz|jsonl?)", each):
            warn(f"{each} looks like the name of a file, which is not there: it is translated as text")
    return iter(sentences)


def _asked() -> Iterator[str]:
    """Ask for sentences until the input ends."""
    from seq2seq.cli.terminal import LEGEND

    print(f"A sentence, or Ctrl-D to leave.\n{LEGEND}", file=sys.stderr)
    while True:
        try:
            yield input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
