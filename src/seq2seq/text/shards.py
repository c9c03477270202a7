"""The files of a corpus that is too large to hold, read a chunk of lines at a time."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.text.corpus import SentencePair, Shard, decode_lines, read_parallel, require_partners
from seq2seq.text.files import LINES_AT_ONCE, InputFile
from seq2seq.text.sample import Sample
from seq2seq.text.text_digests import are_held_out

CHUNK_LINES = 8192
CHUNK_BYTES = 1 << 24
"""Where lines are longer than sentences, a chunk holds fewer."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive lines of a shard, as they lie in the files.

    Attributes:
        shard: where they are from.
        first_line: number of the first of them, from 1.
        num_lines: how many.
        source: the lines of the source file.
        target: those of the target file.
    """

    shard: Shard
    first_line: int
    num_lines: int
    source: bytes
    target: bytes

    def texts(self) -> tuple[list[str], list[str]]:
        """Source and target sentences.

        Raises:
            InputError: they are not UTF-8.
        """
        return (
            decode_lines(self.shard.source, self.source, self.first_line),
            decode_lines(self.shard.target, self.target, self.first_line),
        )


def find_shards(source: str, target: str) -> tuple[Shard, ...]:
    """The files that two paths or patterns such as ``corpus/*.en.gz`` name, in the order of names.

    Raises:
        InputError: the patterns name different numbers of files, or none.
    """
    sources, targets = _files(source), _files(target)
    if len(sources) != len(targets):
        raise InputError(
            f"{source} are {len(sources):,} files but {target} are {len(targets):,}: "
            "the n-th of one, by name, must translate the n-th of the other"
        )
    return tuple(Shard(*paths) for paths in zip(sources, targets, strict=True))


def _files(pattern: str) -> list[Path]:
    if not glob.has_magic(pattern) or Path(pattern).exists():
        return [Path(pattern)]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns too
    if not found:
        raise InputError(f"{pattern} names no file; the working folder is {Path.cwd()}")
    return [Path(name) for name in found]


def num_bytes(shards: Sequence[Shard]) -> int:
    """Size of all files as they lie on the disk; those that are not there count as nothing."""
    return sum(_num_bytes(path) for shard in shards for path in (shard.source, shard.target))


def _num_bytes(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # reading it says what is wrong
        return 0


def are_larger(shards: Sequence[Shard], most: int) -> bool:
    """Whether all files have more bytes of text, decompressed; read no further than needed.

    Raises:
        InputError: a file cannot be read.
    """
    if num_bytes(shards) > most:
        return True
    for path in (path for shard in shards for path in (shard.source, shard.target)):
        with InputFile(path) as file:
            for block in file.blocks():
                most -= len(block)
                if most < 0:
                    return True
    return False


def require_readable(shards: Sequence[Shard]) -> None:
    """Refuse what is seen at once to be wrong.

    Raises:
        InputError: a file cannot be opened.
    """
    for shard in shards:
        for path in (shard.source, shard.target):
            with InputFile(path):
                pass


def stamps(shards: Sequence[Shard]) -> list[tuple[str, int, int, int]]:
    """What changes when a file does: its path, size, and times of modification and of change.

    The content is not read, so that it takes no time; a program that sets the first time back
    cannot set the second.
    """
    paths = [path.resolve() for shard in shards for path in (shard.source, shard.target)]
    found = [(path, path.stat()) for path in paths]
    return [(str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in found]


def chunks(shards: Sequence[Shard]) -> Iterator[Chunk]:
    """All lines, a few at a time.

    Raises:
        InputError: a file cannot be read, is empty, or has more lines than its partner.
    """
    for shard in shards:
        with InputFile(shard.source) as source, InputFile(shard.target) as target:
            yield from _chunks(shard, source, target)


def _chunks(shard: Shard, source: InputFile, target: InputFile) -> Iterator[Chunk]:
    num_read = 0
    while True:
        sources, targets = _next_lines(source, target)
        if len(sources) != len(targets):
            num_source = num_read + len(sources) + _num_left(source)
            num_target = num_read + len(targets) + _num_left(target)
            _require_lines(shard, num_source, num_target)
            require_partners(shard.source, shard.target, num_source, num_target)
        if not sources:
            break
        texts = b"\n".join(sources) + b"\n", b"\n".join(targets) + b"\n"
        yield Chunk(shard, num_read + 1, len(sources), *texts)
        num_read += len(sources)
    _require_lines(shard, num_read, num_read)


def _next_lines(source: InputFile, target: InputFile) -> tuple[list[bytes], list[bytes]]:
    """The lines of a chunk, none at the end; unequal in number where one file ends first."""
    sources: list[bytes] = []
    targets: list[bytes] = []
    num_bytes = 0
    while len(sources) == len(targets) < CHUNK_LINES and num_bytes < CHUNK_BYTES:
        count = min(LINES_AT_ONCE, CHUNK_LINES - len(sources))
        more = source.lines(count), target.lines(count)
        if not any(more):
            break
        sources += more[0]
        targets += more[1]
        num_bytes += sum(map(len, chain(*more)))
    return sources, targets


def _num_left(file: InputFile) -> int:
    return sum(1 for _ in file)


def _require_lines(shard: Shard, num_source: int, num_target: int) -> None:
    for path, count in ((shard.source, num_source), (shard.target, num_target)):
        if not count:
            decode_lines(path, b"")  # says so


def read_shards(shards: Sequence[Shard]) -> list[SentencePair]:
    """All pairs, in memory.

    Raises:
        InputError: a file cannot be read, or two differ in length.
    """
    return [pair for shard in shards for pair in read_parallel(shard.source, shard.target)]


def first_pairs(shards: Sequence[Shard], count: int) -> list[SentencePair]:
    """The first pairs, read no further than needed."""
    pairs = (
        SentencePair(*pair) for chunk in chunks(shards) for pair in zip(*chunk.texts(), strict=True)
    )
    return list(islice(pairs, count))


def sample_pairs(
    shards: Sequence[Shard], held_out: float, split_seed: int
) -> tuple[list[SentencePair], int]:
    """Pairs that are trained on, evenly spread; and the number of all pairs, in one pass."""
    sample = Sample()
    for chunk in chunks(shards):
        sample.extend(*chunk.texts())
    is_held = are_held_out([pair.source for pair in sample.pairs], held_out, split_seed)
    return list(compress(sample.pairs, ~is_held)), sample.num_seen
