"""Sentence pairs as text: lines of files, held-out pairs, alignments."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bitext import Links, lines, open_bytes, plain_lines, read_two, seen_pairs
from bitext import read_lines as lines_of
from bitext import read_links as links_of
from joined_words import clean, links_of_parts, require_inside, text_word_parts
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted, warn
from seq2seq.data.addresses import refusing
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


def texts(pairs: Iterable[SentencePair]) -> list[tuple[str, str]]:
    """Return source and target of pairs, without tags."""
    return [pair.texts for pair in pairs]


def cleaned(pairs: Iterable[SentencePair]) -> list[tuple[str, str]]:
    """Return source and target of pairs without tags, see `clean`."""
    return [(clean(source), clean(target)) for source, target in texts(pairs)]


def stream_bytes(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a text file, plain or compressed, before they are decoded; errors are those of `stream_lines`."""
    with refusing(), open_bytes(path) as file:
        yield from plain_lines(file, str(path))


def stream_lines(path: str | Path | None) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file of any length, plain or compressed, see `bitext.lines`; None: standard input.

    Raises:
        InputError: The file is missing, a folder, damaged, no text, or not UTF-8.
    """
    with refusing():
        yield from lines(path)


read_lines, read_links = refusing()(lines_of), refusing()(links_of)


def stream_parallel(source: str | Path, target: str | Path) -> Iterator[SentencePair]:
    """Yield the pairs of parallel files: line n of one translates line n of the other; ``*.en`` matches several files.

    Raises:
        InputError: A file cannot be read, or two differ in their number of lines.
    """
    with refusing():
        for pair in read_two(source, target):
            yield SentencePair(pair.source, pair.target)


def read_parallel(source: str | Path, target: str | Path) -> list[SentencePair]:
    """Return all pairs of parallel files, see `stream_parallel`."""
    return list(stream_parallel(source, target))


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


def warn_of_seen(train: Sequence[SentencePair], others: Mapping[str, Sequence[SentencePair]]) -> None:
    """Warn if more than a tenth of the pairs of a split, by its name, are training pairs; with `FEW` something is tried out."""
    for name, pairs in others.items():
        filled = [pair for pair in pairs if not pair.is_blank]
        count = sum(seen_pairs(texts(train), texts(filled), both_ways=any(pair.languages for pair in filled)))
        if len(pairs) >= FEW and 10 * count > len(pairs):
            warn(
                f"{count:,} of {counted(len(pairs), f'{name} pair')} are training pairs: scores of what was trained on are too "
                "good; give other text"
            )


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
    sides = zip(
        text_word_parts([pair.source for pair in pairs]),
        text_word_parts([pair.target for pair in pairs]),
        strict=True,
    )
    for number, (pair, (every, possible), (source, target)) in enumerate(
        zip(pairs, lines, sides, strict=True), start=1
    ):
        with refusing(f"{path}, line {number}: "):
            require_inside(every, (len(source), len(target)))
        whole, unsure = links_of_parts(every, possible, source, target)
        found.append(replace(pair, alignment=whole, possible=unsure))
    return found
