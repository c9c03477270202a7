"""Reads a corpus that `corpus_folder` has written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import overload

import numpy as np
from msgspec import Struct
from numpy.typing import DTypeLike, NDArray

from seq2seq.errors import InputError
from seq2seq.storage.digests import require_digests
from seq2seq.storage.typed_json import Count, decoded
from seq2seq.text.block_file import BlockArray, DamagedFileError, FileSeal
from seq2seq.text.codec import TextCodec, load_codecs
from seq2seq.text.corpus import SentencePair
from seq2seq.text.corpus_folder import DIGESTS, FORMAT, HELD_OUT, SEAL, SIDES
from seq2seq.text.store import EncodedSplit


class _Facts(Struct):
    """What ``corpus.json`` says."""

    tokenizer: dict[str, str]
    files: dict[str, FileSeal]
    dtypes: tuple[str, str]
    num_pairs: Count
    num_blank: Count
    num_long: Count
    num_unknown: tuple[Count, Count]
    keeps_text: bool
    format: int


class _Files:
    """The files of a folder, by the seals in its ``corpus.json``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / SEAL
        try:
            digest, content = path.read_text("utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise DamagedFileError(f"{path} is not there or not whole") from error
        if sha256(content.encode()).hexdigest() != digest:
            raise DamagedFileError(f"{path} is damaged")
        try:
            self.facts = decoded(content.encode(), _Facts)
        except ValueError as error:
            raise DamagedFileError(f"{path} is of another version ({error})") from error
        if self.facts.format != FORMAT:
            raise DamagedFileError(f"{path} has format {self.facts.format}, not {FORMAT}")
        try:
            require_digests(folder / "tokenizer", self.facts.tokenizer)
        except InputError as error:
            raise DamagedFileError(str(error)) from error

    def array(self, name: str, dtype: DTypeLike) -> BlockArray:
        return BlockArray(self.folder / name, dtype, self.facts.files[name])


class _Ragged:
    """Sequences of values in two mapped files."""

    def __init__(self, values: BlockArray, offsets: BlockArray) -> None:
        self._values = values
        self._offsets = offsets

    def __getitem__(self, index: int) -> NDArray:
        start, stop = self._offsets.part(index, index + 2).tolist()
        return self._values.part(start, stop)


class StoredSentences:
    """Token ids of many sentences, mapped from a folder."""

    def __init__(self, ids: _Ragged, lengths: NDArray[np.uint16], num_unknown: int) -> None:
        self._ids = ids
        self.lengths = lengths
        self.num_unknown = num_unknown

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self._ids[range(len(self))[index]]


class StoredPairs(Sequence[SentencePair]):
    """The pairs as text, read when they are asked for."""

    def __init__(
        self, count: int, source: Callable[[int], str], target: Callable[[int], str]
    ) -> None:
        self._places = range(count)
        self._source = source
        self._target = target

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SentencePair]: ...
    def __getitem__(self, index: int | slice) -> SentencePair | Sequence[SentencePair]:
        if isinstance(index, slice):
            return [self[place] for place in self._places[index]]
        place = self._places[index]
        return SentencePair(self._source(place), self._target(place))


@dataclass(frozen=True, slots=True)
class StoredCorpus:
    """What a folder holds.

    Attributes:
        codecs: of source and target.
        train: the training split; its ids are mapped. Where text is not kept its pairs are put
            together from the tokens.
        digests: of the source sentences of `train`, see `likeness.LeastDigests`.
        held_out: pairs held out for validation.
    """

    codecs: tuple[TextCodec, TextCodec]
    train: EncodedSplit
    digests: NDArray[np.uint64]
    held_out: list[SentencePair]


def read_corpus(folder: Path) -> StoredCorpus:
    """Open a folder.

    Sizes and what is read at once are checked now, the rest when it is first read.

    Raises:
        DamagedFileError: there is none, or it is not as it was written.
        InputError: a tokenizer in it cannot be read.
    """
    files = _Files(folder)
    source_codec, target_codec = load_codecs(folder / "tokenizer")
    ids = [
        _Ragged(files.array(f"{side}.ids", dtype), files.array(f"{side}.offsets", np.int64))
        for side, dtype in zip(SIDES, files.facts.dtypes, strict=True)
    ]
    source, target = (
        StoredSentences(ragged, files.array(f"{side}.lengths", np.uint16).whole(), num_unknown)
        for side, ragged, num_unknown in zip(SIDES, ids, files.facts.num_unknown, strict=True)
    )
    if files.facts.keeps_text:
        texts = (_kept_text(files, "source"), _kept_text(files, "target"))
    else:
        texts = (_joined(source_codec, source), _joined(target_codec, target))
    num_blank, num_long = files.facts.num_blank, files.facts.num_long
    pairs = StoredPairs(files.facts.num_pairs, *texts)
    return StoredCorpus(
        codecs=(source_codec, target_codec),
        train=EncodedSplit(pairs, source, target, num_blank=num_blank, num_long=num_long),
        digests=files.array(DIGESTS, np.uint64).whole(),
        held_out=_held_out(files),
    )


def _kept_text(files: _Files, side: str) -> Callable[[int], str]:
    text = files.array(f"{side}.text", np.uint8)
    ragged = _Ragged(text, files.array(f"{side}.text_offsets", np.int64))
    return lambda index: ragged[index].tobytes().decode("utf-8")


def _joined(codec: TextCodec, sentences: StoredSentences) -> Callable[[int], str]:
    return lambda index: codec.decode(sentences[index].tolist())


def _held_out(files: _Files) -> list[SentencePair]:
    content = files.array(HELD_OUT, np.uint8).whole().tobytes()
    lines = content.split(b"\n")[:-1]
    return [SentencePair(*decoded(line, tuple[str, str])) for line in lines]
