"""Chunks of text as token ids, ready to be stored."""

from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus_folder import LONGEST, EncodedChunk, EncodedTexts, id_type
from seq2seq.text.shards import Chunk
from seq2seq.text.text_digests import are_held_out, digests
from seq2seq.text.vocabulary import UNKNOWN_ID

SENTENCES_AT_ONCE = 1024
"""Their tokens, as Python's objects, stay in the cache of a processor core."""


@dataclass(frozen=True, slots=True)
class EncodingRules:
    """Which pairs are kept, and what of them.

    Attributes:
        max_length: tokens; longer pairs are dropped; None for what a folder can hold.
        truncate: cut the sentences of longer pairs instead.
        held_out: share of the source sentences whose pairs are held out.
        split_seed: decides which.
        keep_text: keep the text too.
    """

    max_length: int | None
    truncate: bool
    held_out: float
    split_seed: int
    keep_text: bool


def encode_chunk(
    chunk: Chunk, codecs: tuple[TextCodec, TextCodec], rules: EncodingRules
) -> EncodedChunk:
    """Tokenise the pairs of a chunk; `store.encode_split` does the same in memory.

    Raises:
        InputError: a line is not UTF-8.
    """
    texts: tuple[list[Any], ...] = chunk.texts()
    num_blank = 0
    if not all(all(map(str.strip, side)) for side in texts):
        is_filled = [bool(s.strip() and t.strip()) for s, t in zip(*texts, strict=True)]
        texts, num_blank = _chosen(texts, is_filled)
    held_out: list[tuple[str, str]] = []
    if rules.held_out:
        is_held = are_held_out(texts[0], rules.held_out, rules.split_seed).tolist()
        held_out = list(zip(*_chosen(texts, is_held)[0], strict=True))
        texts, _ = _chosen(texts, [not held for held in is_held])
    bound = min(rules.max_length or LONGEST, LONGEST)
    cut = bound if rules.truncate and rules.max_length is not None else None
    sides = [_encoded(codec, side, cut) for codec, side in zip(codecs, texts, strict=True)]
    fits = (sides[0].lengths <= bound) & (sides[1].lengths <= bound)
    num_long = len(fits) - int(np.count_nonzero(fits))
    if num_long:
        sides = [side.chosen(fits) for side in sides]
        texts, _ = _chosen(texts, fits.tolist())
    source, target = (
        side.packed(of_side, keep_text=rules.keep_text)
        for side, of_side in zip(sides, texts, strict=True)
    )
    return EncodedChunk(source, target, digests(texts[0]), held_out, num_blank, num_long)


def _chosen(sides: tuple[list[Any], ...], chosen: list[bool]) -> tuple[tuple[list[Any], ...], int]:
    """What is chosen of each side, and how much is not."""
    if all(chosen):
        return sides, 0
    kept = tuple(list(compress(side, chosen)) for side in sides)
    return kept, len(chosen) - len(kept[0])


@dataclass(frozen=True, slots=True)
class _Flat:
    """Token ids of sentences, one after another, and the number of each."""

    ids: NDArray[np.integer]
    lengths: NDArray[np.int64]

    def chosen(self, chosen: NDArray[np.bool_]) -> "_Flat":
        return _Flat(self.ids[np.repeat(chosen, self.lengths)], self.lengths[chosen])

    def packed(self, texts: list[str], *, keep_text: bool) -> EncodedTexts:
        raw = [text.encode("utf-8") for text in texts] if keep_text else []
        return EncodedTexts(
            ids=self.ids,
            lengths=self.lengths.astype(np.uint16),
            num_unknown=int(np.count_nonzero(self.ids == UNKNOWN_ID)),
            text=b"".join(raw),
            text_lengths=np.fromiter(map(len, raw), np.uint32, count=len(raw)),
        )


def _encoded(codec: TextCodec, texts: list[str], cut: int | None) -> _Flat:
    """Tokenise, and keep the first tokens of each sentence."""
    parts = [np.zeros(0, id_type(codec))]
    lengths = [np.zeros(0, np.int64)]
    for first in range(0, len(texts), SENTENCES_AT_ONCE):
        sentences = codec.encode_all(texts[first : first + SENTENCES_AT_ONCE])
        if cut is not None:
            sentences = [sentence[:cut] for sentence in sentences]
        of_part = np.fromiter(map(len, sentences), np.int64, count=len(sentences))
        count = int(of_part.sum())
        parts.append(np.fromiter(chain.from_iterable(sentences), id_type(codec), count=count))
        lengths.append(of_part)
    return _Flat(np.concatenate(parts), np.concatenate(lengths))
