"""Sentence pairs and the files they are read from. Needs no torch, so that it can refuse early."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.text.files import is_zip, read_bytes, read_zipped_text
from seq2seq.text.likeness import likeness

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Alignment = tuple[tuple[int, int], ...]
"""Word alignment: sorted (source word index, target word index) pairs, counted from 0."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A source sentence and its translation, as ordinary text.

    Attributes:
        source: the source sentence.
        target: its translation.
        alignment: gold links of their words, as `split_words` finds them; None where not known.
        possible: those of the links that are possible, not sure (Och and Ney 2003).
    """

    source: str
    target: str
    alignment: Alignment | None = None
    possible: Alignment = ()


@dataclass(frozen=True, slots=True)
class Shard:
    """Two files whose lines are each other's translations: a corpus, or a piece of one."""

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class ParallelCorpus:
    """The three splits of a corpus; `test` may be empty.

    Attributes:
        train: training pairs; none where there are too many to hold.
        validation: validation pairs; none where they are held out of `large`.
        test: test pairs.
        large: the training files where they are too large to hold.
    """

    train: Sequence[SentencePair]
    validation: Sequence[SentencePair]
    test: Sequence[SentencePair]
    large: tuple[Shard, ...] = ()


def read_lines(path: Path) -> list[str]:
    r"""Read the sentences of a UTF-8 text file, plain or gzip, one a line.

    A line ends at ``\n`` only (a carriage return before it is dropped), so that characters such as
    U+2028 stay inside their sentence. A byte order mark is dropped.

    Raises:
        InputError: the file is missing, unreadable, empty, damaged, or not UTF-8.
    """
    return decode_lines(path, read_bytes(path))


def decode_lines(path: Path, content: bytes, first_line: int = 1) -> list[str]:
    """The lines of a file's content, or of a part that begins with a line, as `read_lines` does.

    Raises:
        InputError: there are none, or they are not UTF-8.
    """
    if first_line == 1:
        content = content.removeprefix(BYTE_ORDER_MARK)
    if not content:
        raise InputError(f"{path} is empty: give a file with one sentence a line")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + first_line
        raise InputError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8: "
            "convert the file, for example with iconv -t UTF-8"
        ) from error
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def read_parallel(source_path: Path, target_path: Path) -> list[SentencePair]:
    """Read two files whose lines are each other's translations.

    Raises:
        InputError: one of them cannot be read, or they differ in length.
    """
    sources, targets = read_lines(source_path), read_lines(target_path)
    require_partners(source_path, target_path, len(sources), len(targets))
    return [SentencePair(*pair) for pair in zip(sources, targets, strict=True)]


def read_sources(source_path: Path, target_path: Path | None) -> list[SentencePair]:
    """Read sentences, and their translations where there is a file of them; else these are blank.

    Raises:
        InputError: a file cannot be read, or they differ in length.
    """
    if target_path is not None:
        return read_parallel(source_path, target_path)
    return [SentencePair(line, "") for line in read_lines(source_path)]


def require_partners(source: Path, target: Path, num_source: int, num_target: int) -> None:
    """Refuse two files of different length.

    Raises:
        InputError: they have different numbers of lines.
    """
    if num_source != num_target:
        raise InputError(
            f"{source} has {num_source:,} lines but {target} has {num_target:,}: "
            "line n of one must translate line n of the other; the first line without a partner "
            f"is {min(num_source, num_target) + 1}"
        )


def drop_blank(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """Pairs whose two sides both hold more than white space."""
    return [pair for pair in pairs if pair.source.strip() and pair.target.strip()]


def read_tab_separated(path: Path) -> list[SentencePair]:
    """Read a file with source and target in the first two columns, as Tatoeba's pairs are served.

    Further columns, such as the attribution, are ignored. The archive is read as served, too: a zip
    with one text file beside its ``_about.txt``; nothing is unpacked.

    Raises:
        InputError: the file cannot be read, or a line has one column only.
    """
    content = read_zipped_text(path) if is_zip(path) else read_bytes(path)
    pairs = []
    for number, line in enumerate(decode_lines(path, content), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError(
                f"{path}, line {number}: no tab: give source and target separated by a tab"
            )
        pairs.append(SentencePair(columns[0], columns[1]))
    return pairs


def in_file_order(
    pairs: Sequence[SentencePair], sizes: tuple[int, int, int]
) -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
    """Consecutive splits of the given sizes.

    A later split leaves out the pairs whose source sentence is in an earlier one, but for case and
    punctuation, and takes the next ones instead.

    Raises:
        InputError: there are too few pairs.
    """
    splits: list[list[SentencePair]] = []
    seen: set[str] = set()
    rest = iter(pairs)
    for size in sizes:
        new = (pair for pair in rest if likeness(pair.source) not in seen)
        split = list(islice(new, size))
        if len(split) < size:
            raise InputError(
                f"{len(pairs):,} pairs are too few for {sizes[0]:,} training, {sizes[1]:,} "
                f"validation and {sizes[2]:,} test pairs: ask for fewer"
            )
        seen |= {likeness(pair.source) for pair in split}
        splits.append(split)
    return splits[0], splits[1], splits[2]


def hold_out(
    pairs: Sequence[SentencePair], count: int, seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Split pairs at random into (the rest, `count` of them or a few more).

    All pairs of one source sentence, whatever its case and punctuation, go to the same side. Each
    side gets one at least.

    Raises:
        InputError: there are too few different source sentences.
    """
    of_pairs = [likeness(pair.source) for pair in pairs]
    sizes = Counter(of_pairs)
    sources = sorted(sizes)
    random.Random(seed).shuffle(sources)
    held_out: set[str] = set()
    num_held_out = 0
    for source in sources:
        if held_out and num_held_out >= count:
            break
        held_out.add(source)
        num_held_out += sizes[source]
    if len(held_out) >= len(sources):
        raise InputError(
            f"{len(pairs):,} training pairs are too few to hold out {max(count, 1):,} of them"
        )
    is_held = [source in held_out for source in of_pairs]
    rest = [pair for pair, held in zip(pairs, is_held, strict=True) if not held]
    return rest, list(compress(pairs, is_held))
