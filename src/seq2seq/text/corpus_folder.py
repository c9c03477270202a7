"""A tokenised corpus in a folder of flat files: written once from beginning to end, then mapped.

``<side>.ids`` are the token ids of all sentences, ``<side>.offsets`` where each begins (and the
end), ``<side>.lengths`` their numbers of tokens; ``<side>.text`` and ``<side>.text_offsets`` the
same for UTF-8 text, where it is kept. ``digests`` are the least ones of the source sentences, by
which it is told whether a sentence was trained on. ``held_out.jsonl`` are the pairs held out of
training, ``tokenizer/`` the codecs. ``corpus.json`` is written last and seals it all.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.storage.digests import file_digests
from seq2seq.text.block_file import BlockWriter
from seq2seq.text.codec import TextCodec, save_codecs
from seq2seq.text.codec_files import CODEC_FILES
from seq2seq.text.text_digests import LeastDigests

FORMAT = 2
SIDES = ("source", "target")
SEAL = "corpus.json"
HELD_OUT = "held_out.jsonl"
DIGESTS = "digests"
CORPUS_FILES = (
    *(HELD_OUT, DIGESTS, SEAL),
    *(f"{s}.{p}" for s in SIDES for p in ("ids", "offsets", "lengths", "text", "text_offsets")),
    *(f"tokenizer/{name}" for name in CODEC_FILES),
)
LONGEST = np.iinfo(np.uint16).max - 2
"""Tokens of a sentence at most, room for the special ones left."""


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """One side of some sentences, ready to be written.

    Attributes:
        ids: token ids, one sentence after another.
        lengths: tokens of each sentence.
        num_unknown: tokens that are ``<unk>``.
        text: the sentences in UTF-8, one after another; empty where text is not kept.
        text_lengths: bytes of each sentence; empty where text is not kept.
    """

    ids: NDArray[np.integer]
    lengths: NDArray[np.uint16]
    num_unknown: int
    text: bytes
    text_lengths: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Consecutive pairs, ready to be written.

    Attributes:
        source: the source side of the pairs that are kept.
        target: the target side.
        digests: of the source sentences, see `likeness.digests`.
        held_out: pairs for validation, as text.
        num_blank: pairs dropped because a side is blank.
        num_long: pairs dropped because a side is over the length bound.
    """

    source: EncodedTexts
    target: EncodedTexts
    digests: NDArray[np.uint64]
    held_out: list[tuple[str, str]]
    num_blank: int
    num_long: int


class _RaggedWriter:
    """Two files: values of many sequences one after another, and where each sequence begins."""

    def __init__(self, values: Path, offsets: Path) -> None:
        self._values, self._offsets = BlockWriter(values), BlockWriter(offsets)
        self._offsets.write(np.zeros(1, dtype=np.int64))
        self._end = 0

    def append(self, values: bytes | NDArray, lengths: NDArray) -> None:
        ends = self._end + np.cumsum(lengths, dtype=np.int64)
        self._values.write(values)
        self._offsets.write(ends)
        self._end = int(ends[-1]) if len(ends) else self._end

    def files(self) -> list[BlockWriter]:
        return [self._values, self._offsets]


class CorpusWriter:
    """Writes the folder, chunk after chunk."""

    def __init__(
        self, folder: Path, codecs: tuple[TextCodec, TextCodec], *, keep_text: bool
    ) -> None:
        self._folder = folder
        self._keep_text = keep_text
        self._facts: dict[str, Any] = {"num_pairs": 0, "num_blank": 0, "num_long": 0}
        self._facts |= {"num_unknown": [0, 0], "dtypes": [id_type(codec).str for codec in codecs]}
        self._files = {name: BlockWriter(folder / name) for name in (HELD_OUT, DIGESTS)}
        self._digests = LeastDigests()
        self._ids = [self._ragged(side, "ids", "offsets") for side in SIDES]
        self._lengths = [self._file(f"{side}.lengths") for side in SIDES]
        self._texts = [self._ragged(s, "text", "text_offsets") for s in SIDES if keep_text]
        save_codecs(codecs, folder / "tokenizer")

    def _file(self, name: str) -> BlockWriter:
        self._files[name] = BlockWriter(self._folder / name)
        return self._files[name]

    def _ragged(self, side: str, values: str, offsets: str) -> _RaggedWriter:
        names = [f"{side}.{values}", f"{side}.{offsets}"]
        writer = _RaggedWriter(*(self._folder / name for name in names))
        self._files |= dict(zip(names, writer.files(), strict=True))
        return writer

    def append(self, chunk: EncodedChunk) -> None:
        """Write the next pairs."""
        for side, texts in enumerate((chunk.source, chunk.target)):
            self._ids[side].append(texts.ids, texts.lengths)
            self._lengths[side].write(texts.lengths)
            self._facts["num_unknown"][side] += texts.num_unknown
            if self._keep_text:
                self._texts[side].append(texts.text, texts.text_lengths)
        lines = (json.dumps(pair, ensure_ascii=False) + "\n" for pair in chunk.held_out)
        self._files[HELD_OUT].write("".join(lines).encode("utf-8"))
        self._digests.add(chunk.digests)
        self._facts["num_pairs"] += len(chunk.source.lengths)
        self._facts["num_blank"] += chunk.num_blank
        self._facts["num_long"] += chunk.num_long

    def seal(self) -> None:
        """Finish all files, then say so."""
        self._files[DIGESTS].write(self._digests.in_order())
        files = {name: asdict(file.close()) for name, file in self._files.items()}
        facts = self._facts | {
            "format": FORMAT,
            "keeps_text": self._keep_text,
            "files": files,
            "tokenizer": file_digests(self._folder / "tokenizer"),
        }
        content = json.dumps(facts)
        seal = BlockWriter(self._folder / SEAL)
        seal.write(f"{sha256(content.encode()).hexdigest()}\n{content}\n".encode())
        seal.close()

    def abandon(self) -> None:
        """Close the files of a corpus that will not be finished."""
        for file in self._files.values():
            file.abandon()


def id_type(codec: TextCodec) -> np.dtype:
    """The smallest type of number that holds the ids of a codec."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.int32)
