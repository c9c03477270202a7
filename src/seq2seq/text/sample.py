"""A part of a corpus, small enough to be held: what tokenizers are trained on."""

from collections.abc import Sequence

from seq2seq.text.corpus import SentencePair

MOST_PAIRS = 250_000
MOST_CHARACTERS = 24_000_000
"""SentencePiece takes about 25 bytes of memory for each of them."""


class Sample:
    """Every n-th pair of a stream, n the smallest power of two that keeps within the bounds.

    Whenever there are too many, every second one is dropped.

    Attributes:
        pairs: what is kept.
        num_seen: number of pairs of the stream.
    """

    def __init__(self) -> None:
        self.pairs: list[SentencePair] = []
        self.num_seen = 0
        self._every = 1
        self._num_characters = 0

    def extend(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """The next sentences of the stream and their translations."""
        chosen = slice(-self.num_seen % self._every, None, self._every)
        pairs = [SentencePair(*pair) for pair in zip(sources[chosen], targets[chosen], strict=True)]
        self.pairs.extend(pairs)
        self._num_characters += _num_characters(pairs)
        self.num_seen += len(sources)
        while len(self.pairs) > 1 and self._is_too_large():
            self.pairs = self.pairs[::2]
            self._num_characters = _num_characters(self.pairs)
            self._every *= 2

    def _is_too_large(self) -> bool:
        return len(self.pairs) > MOST_PAIRS or self._num_characters > MOST_CHARACTERS


def _num_characters(pairs: Sequence[SentencePair]) -> int:
    return sum(len(pair.source) + len(pair.target) for pair in pairs)
