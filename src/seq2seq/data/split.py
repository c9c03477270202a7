"""Pairs that are held out of the training pairs, where a corpus has no validation pairs of its own."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Annotated, Any

from annotated_types import Gt, Le

from bitext import grouped, in_file_order
from bitext import hold_out as draw
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import NotNegative, Positive, Seed
from seq2seq.common.progress import counted, warn
from seq2seq.data.addresses import refusing
from seq2seq.data.text import SentencePair, Splits, cleaned

Part = Annotated[float, Gt(0), Le(0.5)]
"""A share of the pairs."""


@dataclass(frozen=True)
class Split:
    """How many pairs are held out, and which; those of one source stay together.

    Attributes:
        validation: Number of validation pairs, or their share such as 0.02; or a few more.
        test: The same for the test; None and 0: none.
        seed: Decides which pairs are held out; None: 1.
        in_order: Take training, validation and test pairs in the order of the file, not at random.
    """

    validation: Positive | Part | None = None
    test: NotNegative | Part | None = None
    seed: Seed | None = None
    in_order: bool = False

    def __post_init__(self) -> None:
        for name, part in (("validation", self.validation), ("test", self.test or 1)):
            if part is None or not (0 < part <= 0.5 or (isinstance(part, int) and part > 0)):
                raise InputError(f"data.split.{name}={part}: give a number of pairs, or a share up to 0.5")

    @classmethod
    def of(cls, given: "Split | Mapping[str, Any] | None") -> "Split | None":
        """Return what is given as a split; None if nothing is.

        Raises:
            InputError: No validation pairs are held out, or a share is most of them.
        """
        if given is None or isinstance(given, Split):
            return given
        if not any(given.values()):
            return None
        return cls(**given)

    def divide(self, pairs: Sequence[SentencePair], train_pairs: int | None = None) -> Splits:
        """Return training, validation and test pairs, which share no source sentence (see `bitext.normalize`).

        Args:
            pairs: All pairs.
            train_pairs: Number of training pairs, drawn at random; None: all that are not held out. The draw of a larger
                number has the pairs of a smaller one.

        Raises:
            InputError: There are too few pairs.
        """
        validation, test = (
            round(part * len(pairs)) if isinstance(part, float) else part or 0
            for part in (self.validation, self.test)
        )
        if self.in_order:
            if train_pairs is None:
                raise InputError("data.train_pairs is needed with data.split.in_order=true")
            with refusing(after=": lower data.train_pairs"):
                splits = in_file_order(cleaned(pairs), (train_pairs, validation, test))
            return Splits(*([pairs[place] for place in split] for split in splits))
        seed = 1 if self.seed is None else self.seed
        rest, held = hold_out(pairs, validation, seed)
        rest, tested = hold_out(rest, test, seed) if test else (rest, [])
        if train_pairs is not None and train_pairs > len(rest):
            raise InputError(
                f"data.train_pairs={train_pairs}: {len(rest):,} of {len(pairs):,} pairs are left for training: ask for fewer, "
                "or set data.train_pairs=null"
            )
        places = list(range(len(rest)))
        random.Random(seed).shuffle(places)  # a file may be sorted by length, as fra.txt is
        return Splits([rest[place] for place in sorted(places[:train_pairs])], held, tested)


def hold_out(
    pairs: Sequence[SentencePair], count: int, seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Split pairs at random into two lists; the second has `count` pairs or a few more.

    All pairs of one source are in the same list; if there are several language pairs, all that equal texts connect, see
    `bitext.hold_out`. Pairs with a blank side stay in the first list.

    Raises:
        InputError: There are too few different source sentences, or pairs that are not connected.
    """
    has_several = len({pair.languages for pair in pairs}) > 1
    groups = grouped(cleaned(pairs), by_both=has_several)
    with refusing(after=", lower data.split.validation and data.split.test, or give validation files"):
        is_held = draw(groups, count, seed, at_most=has_several)
    held = list(compress(pairs, is_held))
    if 2 * len(held) < count:
        warn(
            f"{len(held):,} of {counted(count, 'pair')} are held out: the others have sentences in common with most training "
            "pairs; validation files are better"
        )
    return [pair for pair, each in zip(pairs, is_held, strict=True) if not each], held


def require_held_out(validation: Mapping[str, Any], split: "Split | Mapping[str, Any] | None") -> None:
    """Refuse a training without validation pairs, of files or held out, and one with both.

    Raises:
        InputError: Neither or both are given.
    """
    if (Split.of(split) is None) != any(validation.get(side) for side in ("source", "target")):
        raise InputError(
            "data.validation needs source and target files; or give data.split.validation, a number of training pairs to "
            "hold out or a share such as 0.02; not both"
        )
