"""What a run has translated: its pairs, and sentences of them to show."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted
from seq2seq.data.text import SentencePair, read_lines, read_parallel
from seq2seq.data.words import clean, split_words

EXAMPLE = re.compile(r"""[^'"`’$\\!.?。！？…]+[.?。？]?""")
"""One sentence, as a shell takes it in quotation marks of any kind."""


def example_sentences(texts: Iterable[str], count: int = 3) -> list[str]:
    """Return sentences to show, the first that are one sentence of 5 to 15 words and signs, without quotation marks.

    Where there are fewer, other sentences follow in their order.
    """
    different = [each for each in dict.fromkeys(map(clean, texts)) if each]
    fit = (each for each in different if EXAMPLE.fullmatch(each) and 5 <= len(split_words(each)) <= 15)
    return list(islice(dict.fromkeys(chain(fit, different)), count))


def examples_of_run(run_dir: Path, count: int = 3) -> list[str]:
    """Return sentences to show of what a run has translated, see `example_sentences`; none where it has not."""
    for split in ("samples", "test", "val"):
        path = run_dir / "predictions" / f"{split}.source.txt"
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                return example_sentences(file.read(2**14).split("\n")[:-1], count)
    return []


def split_of_run(run_dir: Path, *, is_tested: bool) -> str | None:
    """Return the split to score a run on: ``test``; ``val`` where it had none; None where its pairs are gone."""
    found = ("test", "val")[: 1 if is_tested else 2]
    return next((each for each in found if (run_dir / "predictions" / f"{each}.source.txt").is_file()), None)


def pairs_of_run(run_dir: Path, split: str) -> list[SentencePair]:
    """Return the pairs of a split that a run has translated, with their languages if it has several.

    Raises:
        InputError: The files differ in their number of lines.
    """
    files = {
        side: run_dir / "predictions" / f"{split}.{side}.txt" for side in ("source", "reference", "languages")
    }
    pairs = read_parallel(files["source"], files["reference"])
    if not files["languages"].is_file():
        return pairs
    languages = read_lines(files["languages"])
    if len(languages) != len(pairs):
        raise InputError(
            f"{files['languages']} has {counted(len(languages), 'line')} for {counted(len(pairs), 'pair')}"
        )
    return [replace(pair, languages=each) for pair, each in zip(pairs, languages, strict=True)]
