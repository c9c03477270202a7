"""Sentence pairs as text: lines of files, held-out pairs, alignments."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from pathlib import Path

import regex

from bitext import FormatError, Links, lines, open_bytes, plain_lines, read_two
from bitext import read_lines as lines_of
from bitext import read_links as links_of
from joined_words import clean, links_of_parts, require_inside, text_word_parts
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted, warn
from seq2seq.data.addresses import matching, on_disk
from seq2seq.data.languages import target_tag


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A source sentence and its translation, as ordinary text.

    Attributes:
        source: The source sentence.
        target: Its translation.
        alignment: Links between the words that `split_words` returns (``bushes.`` are two, each letter of Chinese and
            Japanese is one), possible links included; None if unknown.
        possible: The links that are possible, not sure (Och and Ney 2003).
        languages: Language codes such as ``en-de``, if a corpus has several language pairs.
    """

    source: str
    target: str
    alignment: Links | None = None
    possible: Links = ()
    languages: str = ""

    @property
    def target_language(self) -> str:
        """Code of the target language, if a corpus has several language pairs."""
        return self.languages.rpartition("-")[2]

    @property
    def texts(self) -> tuple[str, str]:
        """Source and target, without the `target_tag` that a source of a corpus of several language pairs begins with."""
        tag = f"{target_tag(self.target_language)} " if self.languages else ""
        return self.source.removeprefix(tag), self.target

    @property
    def is_blank(self) -> bool:
        """Whether a side has no text, see `clean`."""
        return not (clean(self.source) and clean(self.target))

    def reversed(self) -> "SentencePair":
        """Return the pair with source and target swapped, and its links."""

        def turned(links: Links) -> Links:
            return tuple(sorted((j, i) for i, j in links))

        alignment = None if self.alignment is None else turned(self.alignment)
        return SentencePair(self.target, self.source, alignment, turned(self.possible))


@dataclass(frozen=True, slots=True)
class Splits:
    """The splits of a corpus; `test` may be empty."""

    train: Sequence[SentencePair]
    validation: Sequence[SentencePair]
    test: Sequence[SentencePair] = field(default_factory=list)


# --- files -------------------------------------------------------------------------------------------------


@contextmanager
def refusing(before: str = "", after: str = "") -> Iterator[None]:
    """Raise an `InputError` for the exception of the packages that read files, with more to its message."""
    try:
        yield
    except FormatError as error:
        raise InputError(f"{before}{error}{after}") from error


def stream_bytes(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a text file, plain or compressed, before they are decoded.

    Raises:
        InputError: The file is missing, a folder, damaged, or no text.
    """
    with refusing(), open_bytes(on_disk(path)) as file:
        yield from plain_lines(file, str(path))


def stream_lines(path: str | Path | None) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file of any length, plain or compressed, see `bitext.lines`; None: standard input.

    Raises:
        InputError: The file is missing, a folder, damaged, no text, or not UTF-8.
    """
    with refusing():
        yield from lines(None if path is None else on_disk(path))


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text file, see `stream_lines`.

    Raises:
        InputError: The file cannot be read, or has no text.
    """
    with refusing():
        return lines_of(on_disk(path))


def stream_parallel(source: str | Path, target: str | Path) -> Iterator[SentencePair]:
    """Yield the pairs of parallel files: line n of one translates line n of the other; ``*.en`` matches several files.

    Raises:
        InputError: A file cannot be read, or two differ in their number of lines.
    """
    with refusing():
        for files in zip(*parallel_files(source, target), strict=True):
            for pair in read_two(*map(on_disk, files)):
                yield SentencePair(pair.source, pair.target)


def read_parallel(source: str | Path, target: str | Path) -> list[SentencePair]:
    """Return all pairs of parallel files, see `stream_parallel`."""
    return list(stream_parallel(source, target))


def parallel_files(source: str | Path, target: str | Path) -> list[list[str]]:
    """Return the files that match two patterns, ordered by name.

    Raises:
        InputError: The patterns match different numbers of files.
    """
    sides = [matching(source), matching(target)]
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{source} names {counted(len(sides[0]), 'file')} and {target} names {len(sides[1])}: the n-th of one, by "
            "name, translates the n-th of the other"
        )
    return sides


def read_splits(
    path: str | Path, columns: str, *, num_cells: int = 3, has_more: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Yield the split of each line of a tab-separated file, train, validation or test, and the cells that follow it.

    A line has `num_cells` of them, and if it `has_more`, others that are left out.

    Raises:
        InputError: A line has other columns; the message names them as `columns`.
    """
    for number, line in enumerate(read_lines(path), start=1):
        match line.split("\t"):
            case ["train" | "validation" | "test" as split, *cells] if len(cells) == num_cells or (
                has_more and len(cells) > num_cells
            ):
                yield split, cells[:num_cells]
            case _:
                raise InputError(f"{path}, line {number}: {columns} are expected (data=tsv reads pairs)")


def normalize(sentence: str) -> str:
    """Return a sentence in lower case without punctuation, spaces and control characters, to compare sources."""
    return regex.sub(r"[\p{P}\p{Z}\p{C}]+", "", sentence.casefold()) or sentence


ESCAPE = re.compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#[0-9]+);")
"""A character as Moses' tokenizer and HTML write it."""


def warn_of_escapes(pairs: Sequence[SentencePair]) -> None:
    """Warn if more than a hundredth of the pairs have characters that Moses' tokenizer or HTML escape."""
    found = [each[0] for pair in pairs if (each := ESCAPE.search(f"{pair.source} {pair.target}"))]
    if 100 * len(found) > len(pairs):
        warn(
            f"{len(found):,} of {len(pairs):,} training pairs have escapes such as {found[0]}, which text to translate will "
            "not have: unescape the files, for example by Python's html.unescape"
        )


FEW = 10
"""Pairs of a split from which on scores say something."""


def compared(pair: SentencePair) -> tuple[str, ...]:
    """Return the texts by which equal pairs are known; if a corpus has several language pairs, turned round they are equal."""
    return tuple(sorted(pair.texts)) if pair.languages else pair.texts


def warn_of_seen(train: Sequence[SentencePair], others: Mapping[str, Sequence[SentencePair]]) -> None:
    """Warn if more than a tenth of the pairs of a split, by its name, are training pairs; with `FEW` something is tried out."""
    wanted = {compared(pair) for pairs in others.values() for pair in pairs if not pair.is_blank}
    seen = wanted.intersection(map(compared, train))
    for name, pairs in others.items():
        count = sum(compared(pair) in seen for pair in pairs)
        if len(pairs) >= FEW and 10 * count > len(pairs):
            warn(
                f"{count:,} of {counted(len(pairs), f'{name} pair')} are training pairs: scores of what was trained on are too "
                "good; give other text"
            )


# --- held-out pairs ----------------------------------------------------------------------------------------


def in_file_order(pairs: Sequence[SentencePair], sizes: Sequence[int]) -> list[list[SentencePair]]:
    """Return consecutive splits of the given sizes.

    A split leaves out pairs whose source sentence is in an earlier split, compared by `normalize`; all but the first
    leave out pairs with a blank side.

    Raises:
        InputError: There are too few pairs.
    """
    splits: list[list[SentencePair]] = []
    used: set[str] = set()
    rest = iter(pairs)
    for size in sizes:
        new = (pair for pair in rest if normalize(pair.source) not in used)
        split = list(islice((pair for pair in new if not (splits and pair.is_blank)), size))
        if len(split) < size:
            raise InputError(
                f"{counted(len(pairs), 'pair')}: too few for {sizes[0]:,} training, {sizes[1]:,} validation and "
                f"{counted(sizes[2], 'test pair')}: lower data.train_pairs"
            )
        used |= {normalize(pair.source) for pair in split}
        splits.append(split)
    return splits


def connected(pairs: Sequence[SentencePair]) -> list[str]:
    """Return, for each pair, one text of all pairs that it is connected with by equal texts; nothing for a blank pair.

    Sources and targets are compared with each other, by `normalize`.
    """
    parents: dict[str, str] = {}

    def first(text: str) -> str:
        while parents.setdefault(text, text) != text:
            parents[text] = text = parents[parents[text]]
        return text

    sides = [("", "") if pair.is_blank else tuple(map(normalize, pair.texts)) for pair in pairs]
    for source, target in sides:
        kept, other = sorted((first(source), first(target)))
        parents[other] = kept
    return [first(source) for source, _ in sides]


def hold_out(
    pairs: Sequence[SentencePair], count: int, seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Split pairs at random into two lists; the second has `count` pairs or a few more.

    All pairs with the same source sentence, compared by `normalize`, are in the same list; if there are several language
    pairs, all that are `connected`: then groups of more than `count` pairs, as frequent short sentences connect, stay in the
    first list, and the second has `count` pairs or a few fewer. No list is empty. Pairs with a blank side stay in the first
    list.

    Raises:
        InputError: There are too few different source sentences, or pairs that are not connected.
    """
    has_several = len({pair.languages for pair in pairs}) > 1
    if has_several:
        of_pairs = connected(pairs)
    else:
        of_pairs = ["" if pair.is_blank else normalize(pair.source) for pair in pairs]
    sizes = Counter(source for source in of_pairs if source)
    sources = sorted(sizes)
    random.Random(seed).shuffle(sources)
    room = max(count, min(sizes.values(), default=0)) if has_several else len(pairs)
    held: set[str] = set()
    num_held = 0
    for source in sources:
        if held and num_held >= count:
            break
        if num_held + sizes[source] <= room:
            held.add(source)
            num_held += sizes[source]
    if len(held) >= len(sources):
        which = "too few without a sentence in common" if has_several else "too few"
        raise InputError(
            f"{counted(len(pairs), 'training pair')}: {which} to hold out {max(count, 1):,} of them: give more pairs, "
            "lower data.split.validation and data.split.test, or give validation files"
        )
    if 2 * num_held < count:
        warn(
            f"{num_held:,} of {counted(count, 'pair')} are held out: the others have sentences in common with most training "
            "pairs; validation files are better"
        )
    is_held = [source in held for source in of_pairs]
    return list(compress(pairs, [not each for each in is_held])), list(compress(pairs, is_held))


# --- alignments in Pharaoh format --------------------------------------------------------------------------


def read_links(path: str | Path) -> list[tuple[Links, Links]]:
    """Read a file of alignments, see `bitext.parse_links`.

    Raises:
        InputError: The file cannot be read, or contains something that is not a link.
    """
    with refusing():
        return links_of(on_disk(path))


def with_alignments(pairs: Sequence[SentencePair], path: str | Path, key: str) -> list[SentencePair]:
    """Return pairs with the links of a Pharaoh file, which has one line per pair.

    The file links the words of `text_words`. They are converted to links of the words of `split_words`.
    `key` is that of the file in the configuration.

    Raises:
        InputError: The file is invalid, or does not belong to these pairs.
    """
    lines = read_links(path)
    if len(lines) != len(pairs):
        raise InputError(
            f"{key}={path} has {counted(len(lines), 'line')} for {counted(len(pairs), 'pair')}: line n is of pair n, so that "
            "this corpus may hold out no pairs of its file"
        )
    found = []
    words = map(text_word_parts, zip(*((pair.source, pair.target) for pair in pairs), strict=True))
    for number, (pair, links, *sides) in enumerate(zip(pairs, lines, *words, strict=True), start=1):
        source, target = sides
        with refusing():
            require_inside(f"{path}, line {number}", links[0], (len(source), len(target)))
        alignment, possible = links_of_parts(*links, source, target)
        found.append(replace(pair, alignment=alignment, possible=possible))
    return found
