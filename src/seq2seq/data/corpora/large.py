"""Parallel files larger than memory: tokenized once into Arrow files that `datasets` maps into memory."""

import copy
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joined_words import INVISIBLE, WORD
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Positive
from seq2seq.data.addresses import is_address, matching
from seq2seq.data.batch import EncodedSplit, checksum_of
from seq2seq.data.corpora.parallel import ParallelText
from seq2seq.data.text import SentencePair, Splits, stream_parallel
from seq2seq.data.tokenizers import Tokenizer

CHUNK = 20_000
"""Number of pairs that are tokenized together."""


def _saved(tokenizer: Tokenizer) -> list[bytes]:
    """Return the contents of the files of a tokenizer."""
    with TemporaryDirectory() as folder:
        tokenizer.save(Path(folder), "source")
        return [path.read_bytes() for path in sorted(Path(folder).iterdir())]


class LargeText(ParallelText):
    """Files of two languages that do not fit into memory, in the formats of `ParallelText`.

    It needs 20 bytes of memory per pair; the tokens are mapped from disk. The tokenized corpus is kept in `cache`
    and reused while files, tokenizers and options are the same.

    Args:
        train: Files ``source`` and ``target``; patterns such as ``*.en`` match several files.
        validation: Files ``source`` and ``target``.
        test: The same; without it, the validation split is scored at the end.
        cache: Folder of the tokenized corpus.
        fit_pairs: Number of pairs for fitting the tokenizers, taken at equal intervals.
        num_processes: Number of tokenizing processes.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        train: Mapping[str, str | None],
        validation: Mapping[str, Any],
        test: Mapping[str, str | None] | None = None,
        cache: str = "data/cache",
        fit_pairs: Positive = 500_000,
        num_processes: Positive = 1,
        **options: Any,
    ) -> None:
        super().__init__(train=train, validation=validation, test=test, **options)
        self.cache, self.fit_pairs, self.num_processes = cache, fit_pairs, num_processes
        if self.alignments is not None or self.overfit or self.filter is not None:
            raise InputError(
                "data=large has neither data.alignments nor data.overfit nor data.filter: use data=parallel"
            )

    def read(self) -> Splits:
        """Read the validation and test files, and a sample of the training pairs for the tokenizers."""
        validation, test = self._pairs("validation"), self._pairs("test")
        if not validation or self.split is not None:
            raise InputError("data=large needs data.validation.source and data.validation.target, no split")
        for name in chain(*map(matching, self.checked_files("train"))):
            if is_address(name) or Path(name).is_fifo():
                raise InputError(
                    f"{name} is no file on a disk, and data=large reads its files several times: give a file"
                )
        step = max(1, -(-self._counts[0] // self.fit_pairs))
        return Splits(list(islice(self._stream(), 0, None, step)), validation, test)

    def _stream(self) -> Iterator[SentencePair]:
        return islice(stream_parallel(*self.checked_files("train")), self.max_examples)

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        """Number of pairs in the files, number of pairs with a blank side, and sum of their text."""
        filled = Counter[bool]()

        def counted() -> Iterator[SentencePair]:
            for pair in self._stream():
                filled[not pair.is_blank] += 1
                yield pair

        checksum = checksum_of(counted())
        return filled.total(), filled[False], checksum

    @property
    def text_checksums(self) -> list[int]:
        """A sum for each of the splits, for training of all pairs of the files."""
        return [self._counts[2], *super().text_checksums[1:]]

    @property
    def num_pairs(self) -> int:
        """Number of training pairs that an epoch reads."""
        return self._counts[0] * (2 if self.both_directions else 1)

    def encode_train(self, pairs: Sequence[SentencePair]) -> EncodedSplit:
        """Tokenize the files into `cache`, or use the files that are there."""
        del pairs  # a sample
        try:
            import datasets
        except ImportError as error:
            raise InputError("data=large needs a package: pip install datasets") from error
        small = max(each.vocab_size for each in self.tokenizers) <= np.iinfo("uint16").max
        ids = datasets.List(datasets.Value("uint16" if small else "int32"))
        processes = min(self.num_processes, -(-self._counts[0] // CHUNK))
        borders = [self._counts[0] * number // processes for number in range(processes + 1)]
        worker = copy.copy(self)
        worker.splits, worker.trainer = Splits([], [], []), None  # not to be copied into each process
        # everything that the tokenized corpus depends on
        tokenizers = [[type(each).__qualname__, each.arguments, *_saved(each)] for each in self.tokenizers]
        names = chain(*map(matching, self.checked_files("train")))
        paths = [Path(name).resolve() for name in names]
        files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
        options = [self.max_length.tokens, self.max_length.over, self.max_examples, self.both_directions]
        options += [INVISIBLE.pattern, WORD.pattern]
        num_blank = self._counts[1] * (2 if self.both_directions else 1)
        try:
            rows = datasets.Dataset.from_generator(
                worker._rows,
                datasets.Features({"source": ids, "target": ids, "cut": datasets.Value("int32")}),
                cache_dir=self.cache,
                gen_kwargs={"parts": list(pairwise(borders))},
                num_proc=processes if processes > 1 else None,
                fingerprint=datasets.fingerprint.Hasher.hash([tokenizers, files, options, "cut"]),
            )
        except ValueError as error:
            if "no data" not in str(error):
                raise
            empty = self.encode([], None, truncate=False)  # `setup` says so
            return replace(empty, num_blank=num_blank, num_long=self.num_pairs - num_blank)
        self.splits = replace(self.splits, train=[])  # the sample is not needed any more
        source, target = (MappedSentences(rows.data.column(name)) for name in ("source", "target"))
        return MappedSplit(
            DecodedPairs((source, target), self.tokenizers),
            source,
            target,
            num_blank=num_blank,
            num_long=self.num_pairs - num_blank - len(rows),
            num_cut=int(rows.data.column("cut").to_numpy().sum()),
        )

    def _rows(self, parts: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
        for start, stop in parts:  # lines of the files
            lines = islice(self._stream(), start, stop)
            while pairs := list(islice(lines, CHUNK)):
                split = super().encode_train(pairs)
                for place, (source, target) in enumerate(zip(split.source, split.target, strict=True)):
                    yield {"source": source, "target": target, "cut": 0 if place else split.num_cut}


class MappedSentences:
    """Token ids of one side of the training split; only the sentence lengths are in memory.

    Args:
        column: A column of lists of an Arrow table, mapped from disk; its chunks are not copied.
    """

    def __init__(self, column: Any) -> None:
        chunks = column.chunks
        self.chunks = [chunk.values.to_numpy() for chunk in chunks]
        self._offsets = [chunk.offsets.to_numpy() for chunk in chunks]
        self._firsts = [0, *accumulate(map(len, chunks))]
        self.lengths = np.concatenate([np.zeros(0, np.int32), *map(np.diff, self._offsets)])

    @property
    def ids(self) -> NDArray[np.integer]:
        """All token ids, in memory."""
        return np.concatenate(self.chunks)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: int, /) -> NDArray[np.integer]:
        chunk = bisect(self._firsts, place) - 1
        start, end = self._offsets[chunk][place - self._firsts[chunk] :][:2]
        return self.chunks[chunk][start:end]

    def __iter__(self) -> Iterator[NDArray[np.integer]]:
        return (self[place] for place in range(len(self)))


class MappedSplit(EncodedSplit):
    """A split whose text is decoded from its tokens."""

    source: MappedSentences
    target: MappedSentences

    @property
    def checksum(self) -> int:
        """Sum of the tokens of every pair."""
        parts = chain.from_iterable((side.lengths, *side.chunks) for side in (self.source, self.target))
        return reduce(lambda total, part: zlib.crc32(part, total), parts, 0)


class DecodedPairs(Sequence[SentencePair]):
    """The text of the training split, decoded from its tokens; unknown words are ``<unk>``."""

    def __init__(self, sides: Sequence[MappedSentences], tokenizers: Sequence[Tokenizer]) -> None:
        self._sides, self._tokenizers = sides, tokenizers

    def __len__(self) -> int:
        return len(self._sides[0])

    def __getitem__(self, place: Any) -> Any:
        source, target = (
            tokenizer.decode(side[place])
            for side, tokenizer in zip(self._sides, self._tokenizers, strict=True)
        )
        return SentencePair(source, target)
