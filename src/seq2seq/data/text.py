"""Sentence pairs as text: files, words, held-out pairs, alignments."""

import bz2
import contextlib
import gzip
import io
import lzma
import random
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain, compress, islice
from pathlib import Path
from typing import Any

import regex

from seq2seq.common.counted import counted
from seq2seq.common.files import matching, on_disk
from seq2seq.common.progress import warn
from seq2seq.data.formats.kinds import HEAD, plain_lines, text_member
from seq2seq.data.languages import target_tag
from seq2seq.data.words import clean, split_words, text_word_parts
from seq2seq.errors import InputError

Links = tuple[tuple[int, int], ...]
"""Word alignment: sorted (source word, target word) pairs, counted from 0."""


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


class Decompressed(io.RawIOBase):
    """The content of one or more compressed streams, one after another.

    (bz2.open and lzma.open leave out what follows a stream and is none, such as a file in another format.)

    Args:
        file: The open file.
        make: Returns a decompressor of a stream.
    """

    def __init__(self, file: Any, make: Callable[[], Any]) -> None:
        self._file, self._make, self._stream = file, make, make()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a part of a buffer; return its size, 0 at the end."""
        found = b""
        while not found:
            if self._stream.eof:
                data = self._stream.unused_data
                while not data.strip(b"\0") and (part := self._file.read1(HEAD)):
                    data = part  # xz allows zeros between streams
                if not data.strip(b"\0"):
                    return 0
                data, self._stream = data.lstrip(b"\0"), self._make()
            else:
                data = self._file.read1(HEAD) if self._stream.needs_input else b""
                if self._stream.needs_input and not data:
                    raise EOFError("it ends within a compressed stream")
            found = self._stream.decompress(data, len(buffer))
        buffer[: len(found)] = found
        return len(found)


OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": partial(Decompressed, make=bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": partial(Decompressed, make=lzma.LZMADecompressor),
}
"""Functions that decompress an open file, by the first bytes of the file."""


class _Joined(io.RawIOBase):
    """The beginning of a file, which has been read, and the rest."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found = self._head[: len(buffer)] or self._file.read1(len(buffer))
        self._head = self._head[len(found) :]
        buffer[: len(found)] = found
        return len(found)


@contextlib.contextmanager
def open_text(path: str | Path | None) -> Iterator[io.BufferedReader]:
    """Open a file, an address or standard input, decompressed by its content; of a zip archive, its only text file.

    It is opened once and read from start to end, so that a pipe is read like a file. Its method ``peek`` has the first
    `HEAD` bytes, of what comes through standard input the first line at least.

    Raises:
        InputError: A zip archive comes through a pipe, or does not hold one text file; standard input is closed.
    """
    if path is None and sys.stdin is None:
        raise InputError("standard input is closed: give a file")
    with contextlib.ExitStack() as stack:
        file: Any = sys.stdin.buffer if path is None else stack.enter_context(open(on_disk(path), "rb"))
        may_wait, head = path is None and not file.seekable(), b""
        while len(head) < HEAD and not (may_wait and b"\n" in head):  # a pipe gives a few bytes at a time
            part = file.read1(HEAD - len(head))
            if not part:
                break
            head += part
        if head.startswith(b"PK\x03\x04"):
            if not file.seekable():
                raise InputError(
                    f"{path or 'standard input'}: a zip archive cannot be read from a pipe: give its file"
                )
            file.seek(-len(head), io.SEEK_CUR)
            archive = stack.enter_context(zipfile.ZipFile(file))
            content: Any = stack.enter_context(archive.open(text_member(archive, path or "standard input")))
        else:
            opener = next((opener for magic, opener in OPENERS.items() if head.startswith(magic)), None)
            content = io.BufferedReader(_Joined(head, file), HEAD)
            content = content if opener is None else opener(content)
        yield content if type(content) is io.BufferedReader else io.BufferedReader(content, HEAD)


@contextlib.contextmanager
def refusing(name: str) -> Iterator[None]:
    """Raise an `InputError` that names a file for what goes wrong when it is opened, decompressed or read."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{name}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder: give a file") from error
    except (OSError, EOFError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{name} is damaged or cannot be read: {error}") from error


def stream_lines(path: str | Path | None) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text file of any length, plain or compressed.

    Only ``\n`` ends a line (a carriage return before it is dropped), so characters such as U+2028 stay inside
    their sentence. A byte order mark is dropped, also within a file that was put together of several.

    Args:
        path: The file; None for standard input.

    Raises:
        InputError: The file is missing, a folder, damaged, or not UTF-8.
    """
    name = "standard input" if path is None else str(path)
    try:
        with refusing(name), open_text(path) as file:
            for number, content in enumerate(plain_lines(file, name), start=1):  # noqa: B007 - for the messages
                yield (
                    content.removeprefix(b"\xef\xbb\xbf")
                    .decode("utf-8")
                    .removesuffix("\n")
                    .removesuffix("\r")
                )
    except UnicodeDecodeError as error:
        if re.search(rb"[\x00-\x08\x0e-\x1a]", error.object):
            raise InputError(f"{name}, line {number}: this is no text: give a text file in UTF-8") from error
        given = "" if name == "standard input" else f" {name}"
        raise InputError(
            f"{name}, line {number}: byte 0x{error.object[error.start]:02x} is not UTF-8: convert the file, for "
            f"example with iconv -f LATIN1 -t UTF-8{given}"
        ) from error


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text file, see `stream_lines`.

    Raises:
        InputError: The file cannot be read, or has no text.
    """
    lines = list(stream_lines(path))
    if not any(map(clean, lines)):
        has = "has blank lines only" if lines else "is empty"
        raise InputError(f"{path} {has}: give a file with one sentence a line")
    return lines


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


def read_parallel(source: str | Path, target: str | Path) -> list[SentencePair]:
    """Read parallel files: line n of one translates line n of the other; ``*.en`` matches several files.

    Raises:
        InputError: A file cannot be read, or the two differ in their number of lines.
    """
    pairs: list[SentencePair] = []
    for first, second in zip(*parallel_files(source, target), strict=True):
        sources, targets = read_lines(first), read_lines(second)
        if len(sources) != len(targets):
            raise InputError(
                f"{first} has {counted(len(sources), 'line')} but {second} has {len(targets):,}: line n of one must "
                f"translate line n of the other; the first line without a partner is "
                f"{min(len(sources), len(targets)) + 1}"
            )
        pairs += map(SentencePair, sources, targets)
    return pairs


def read_splits(path: str | Path, columns: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the four columns of each line of a tab-separated file, the first of which is train, validation or test.

    Raises:
        InputError: A line has others; the message names them as `columns`.
    """
    for number, line in enumerate(read_lines(path), start=1):
        match line.split("\t"):
            case ["train" | "validation" | "test" as split, first, second, third]:
                yield split, first, second, third
            case _:
                raise InputError(f"{path}, line {number}: {columns} are expected (data=tsv reads pairs)")


def normalize(sentence: str) -> str:
    """Return a sentence in lower case without punctuation, spaces and control characters, to compare sources."""
    return regex.sub(r"[\p{P}\p{Z}\p{C}]+", "", sentence.casefold()) or sentence


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
    for split in ("test", "val"):
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


def require_held_out(validation: Mapping[str, Any]) -> None:
    """Refuse a training without validation pairs: of files, or of a share of the training pairs.

    Raises:
        InputError: Neither or both are given, or the share is none.
    """
    share = validation.get("fraction")
    if (share is None) != any(validation.get(side) for side in ("source", "target")):
        raise InputError(
            "data.validation needs either source and target files or a fraction of the training pairs, for example "
            "data.validation.fraction=0.02"
        )
    if share is not None:
        require_share(share)


def require_share(share: Any) -> None:
    """Refuse to hold out none, or most, of the training pairs."""
    if not (isinstance(share, int | float) and 0 < share <= 0.5):
        raise InputError(f"data.validation.fraction={share}: a share from 0 to 0.5 is needed")


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
            "another data.validation.fraction, or data.validation files"
        )
    if 2 * num_held < count:
        warn(
            f"{num_held:,} of {counted(count, 'pair')} are held out: the others have sentences in common with most training "
            "pairs; validation files are better"
        )
    is_held = [source in held for source in of_pairs]
    return list(compress(pairs, [not each for each in is_held])), list(compress(pairs, is_held))


# --- alignments in Pharaoh format --------------------------------------------------------------------------

LINK = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})")


def parse_links(line: str) -> tuple[Links, Links]:
    """Return (all links, possible links) of a line: ``i-j`` is sure, ``i?j`` or ``ipj`` possible.

    A link that is written in both forms is sure.

    Raises:
        InputError: The line contains something that is not a link.
    """
    every, sure = set(), set()
    for item in line.split():
        match = LINK.fullmatch(item)
        if match is None:
            raise InputError(f"{item!r:.40} is no link: write SOURCE-TARGET, such as 0-1")
        link = (int(match[1]), int(match[3]))
        every.add(link)
        if match[2] == "-":
            sure.add(link)
    return tuple(sorted(every)), tuple(sorted(every - sure))


def require_inside(where: str, links: Links, sizes: tuple[int, int], what: str) -> None:
    """Check that links are inside a pair of sentences.

    Args:
        where: File and line, for the message.
        links: The links.
        sizes: Number of words of the source and of the target.
        what: The words that are counted, for the message.

    Raises:
        InputError: A link is outside.
    """
    for i, j in links:
        if i >= sizes[0] or j >= sizes[1]:
            raise InputError(
                f"{where}: link {i}-{j} is outside the sentence pair of {sizes[0]} and {counted(sizes[1], 'word')}: count {what} "
                "from 0"
            )


def read_links(path: str | Path) -> list[tuple[Links, Links]]:
    """Read a file of alignments, see `parse_links`.

    Raises:
        InputError: The file cannot be read, or contains something that is not a link.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            found.append(parse_links(line))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
    return found


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
    texts = zip(*((pair.source, pair.target) for pair in pairs), strict=True)
    words = zip(*map(text_word_parts, texts), strict=True)
    for number, (pair, (every, possible), both) in enumerate(zip(pairs, lines, words, strict=False), start=1):
        sides = [_parts(each) for each in both]
        whole, sure = set(), set()
        what = "words between white space, and letters of Chinese and Japanese,"
        require_inside(f"{path}, line {number}", every, (len(sides[0]), len(sides[1])), what)
        for i, j in every:
            # In "bushes." and "Büsche." the words and the full stops belong together. Of "bushes," and
            # "Büsche" the comma has no like: the link tells nothing sure of it.
            source, target = sides[0][i], sides[1][j]
            links = {(a, b): (x, y) for a, x in source.items() for b, y in target.items()}
            alike = {link for link, (x, y) in links.items() if x == y}
            kinds = set(source.values()), set(target.values())
            alone = {link for link, (x, y) in links.items() if x not in kinds[1] or y not in kinds[0]}
            whole |= alike | alone
            if (i, j) not in possible:
                sure |= alike or alone
        found.append(replace(pair, alignment=tuple(sorted(whole)), possible=tuple(sorted(whole - sure))))
    return found


def _parts(words: Sequence[Sequence[str]]) -> list[dict[int, bool]]:
    """Return, for each word, the indices of its parts, see `text_word_parts`, with False for punctuation."""
    parts = [[any(map(str.isalnum, part)) for part in word] for word in words]
    ends = accumulate(map(len, parts), initial=0)
    return [dict(enumerate(each, start)) for each, start in zip(parts, ends, strict=False)]
