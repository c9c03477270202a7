"""What is measured: the sizes of a model, and a plan of measurements. Sees no torch."""

import re
from dataclasses import dataclass

from seq2seq.errors import InputError

LEAST_VOCABULARY = 5
"""Special tokens and one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A model and its batch.

    Attributes:
        hidden: E = H = A, and the size of one direction of the encoder.
        num_layers: GRU layers of encoder and decoder.
        bidirectional: whether the encoder reads both ways.
        vocabulary: V on both sides.
        sentences: sentences in a batch, B.
    """

    hidden: int
    num_layers: int
    bidirectional: bool
    vocabulary: int
    sentences: int

    @property
    def name(self) -> str:
        """What the size is called in tables and in JSON."""
        layers = f"L{self.num_layers}{'bi' if self.bidirectional else ''}"
        return f"H{self.hidden}-{layers}-V{self.vocabulary}-B{self.sentences}"

    @classmethod
    def parse(cls, name: str) -> "Size":
        """The size of a name.

        Raises:
            InputError: it names none.
        """
        found = re.fullmatch(r"H([1-9]\d*)-L([1-9]\d*)(bi)?-V([1-9]\d*)-B([1-9]\d*)", name)
        if found is None or int(found[4]) < LEAST_VOCABULARY:
            raise InputError(f"--sizes {name}: no size, write it like {SMALL.name} or {WIDE.name}")
        hidden, layers, both_ways, vocabulary, sentences = found.groups()
        return cls(
            hidden=int(hidden),
            num_layers=int(layers),
            bidirectional=both_ways is not None,
            vocabulary=int(vocabulary),
            sentences=int(sentences),
        )

    @property
    def memory(self) -> int:
        """Size M of the encoder outputs."""
        return self.hidden * (2 if self.bidirectional else 1)


SMALL = Size(hidden=256, num_layers=2, bidirectional=False, vocabulary=8000, sentences=128)
WIDE = Size(hidden=512, num_layers=1, bidirectional=True, vocabulary=8000, sentences=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured.

    Attributes:
        sizes: the first gives the main ratios.
        batches: different batches of each kind.
        rounds: times that every variant goes through the batches.
        other_rounds: the same for decoding.
        kept_length: S = T where activations are counted.
        decoded: sentences that are translated.
    """

    sizes: tuple[Size, ...]
    batches: int
    rounds: int
    other_rounds: int
    kept_length: int = 50
    decoded: int


QUICK = Plan(sizes=(SMALL,), batches=2, rounds=3, other_rounds=2, decoded=200)
FULL = Plan(sizes=(SMALL, WIDE), batches=3, rounds=5, other_rounds=3, decoded=1000)
