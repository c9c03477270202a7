"""Sentences that differ in case and punctuation alone are one sentence where splits are made."""

import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class _Signs(dict[int, str | None]):
    """For `str.translate`: leaves out punctuation, white space, controls and marks unseen."""

    def __missing__(self, code: int) -> str | None:
        kept = chr(code) if unicodedata.category(chr(code))[0] not in "PZC" else None
        self[code] = kept
        return kept


_SIGNS = _Signs()


def likeness(sentence: str) -> str:
    """What is left of a sentence without case, punctuation and spaces; all of it if nothing is."""
    return sentence.casefold().translate(_SIGNS) or sentence


def digests(sentences: Iterable[str], seed: int | None = None) -> NDArray[np.uint64]:
    """64 bits of BLAKE2b of the likeness of each sentence; others for each seed."""
    key = b"" if seed is None else str(seed).encode()
    found = (
        blake2b(likeness(each).encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for each in sentences
    )
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


def are_held_out(sentences: Iterable[str], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Whether the pairs of source sentences are for validation: by their digests, nothing else."""
    return digests(sentences, seed) < fraction * 2.0**64
