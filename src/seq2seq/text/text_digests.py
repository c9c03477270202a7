"""Sentences by number, to tell those of one split from those of another, however many there are."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from seq2seq.text.likeness import likeness

MOST = 1 << 18


def digests(sentences: Iterable[str], seed: int | None = None) -> NDArray[np.uint64]:
    """64 bits of BLAKE2b of the likeness of each sentence; others for each seed."""
    key = b"" if seed is None else str(seed).encode()
    found = (
        blake2b(likeness(each).encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for each in sentences
    )
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


class LeastDigests:
    """The least `MOST` of many digests: all of them, or a sample.

    Of two samples the digests up to the lesser of their greatest ones can be compared (a k-minimum-
    values sketch, Bar-Yossef et al. 2002), so that a set of sentences that was trained on is told
    from one that was not, in bounded memory.
    """

    def __init__(self) -> None:
        self._least = np.zeros(0, np.uint64)
        self._others: list[NDArray[np.uint64]] = []
        self._num_others = 0

    def add(self, found: NDArray[np.uint64]) -> None:
        """Add digests."""
        if len(self._least) == MOST:
            found = found[found < self._least[-1]]
        self._others.append(found)
        self._num_others += len(found)
        if self._num_others > MOST:
            self.in_order()

    def in_order(self) -> NDArray[np.uint64]:
        """What is kept, each once."""
        self._least = np.unique(np.concatenate([self._least, *self._others]))[:MOST]
        self._others, self._num_others = [], 0
        return self._least


def least_digests(*parts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The least `MOST` of digests, in order and each once."""
    kept = LeastDigests()
    for part in parts:
        kept.add(part)
    return kept.in_order()


def are_held_out(sentences: Iterable[str], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Whether the pairs of source sentences are for validation: by their digests, nothing else."""
    return digests(sentences, seed) < fraction * 2.0**64
