"""Training pairs that are left out before any are held out: ``data.filter``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from bitext import odd_ratios, repeats, same_sides
from seq2seq.common.progress import counted
from seq2seq.data.text import SentencePair, texts


@dataclass(frozen=True)
class Filter:
    """Which training pairs are left out.

    Attributes:
        max_ratio: Those whose lengths in characters have a ratio that is so many times the usual one, the median, or so many
            times smaller; of pairs with 20 characters on a side. None: none.
        duplicates: Whether those that repeat an earlier one, source and target.
        same: Whether those whose sides are the same, but for case and punctuation.
    """

    max_ratio: Annotated[float, Gt(1)] | None = None
    duplicates: bool = False
    same: bool = False

    def kept(self, pairs: Sequence[SentencePair]) -> tuple[list[SentencePair], str]:
        """Return the pairs that are left, and a line that counts the others by the first reason that applies."""
        own, none = texts(pairs), [False] * len(pairs)
        marks = {
            "duplicates": repeats((pair.languages, *pair.texts) for pair in pairs)
            if self.duplicates
            else none,
            "same": same_sides(own) if self.same else none,
            "max_ratio": odd_ratios(own, self.max_ratio) if self.max_ratio else none,
        }
        reasons = [next((name for name in marks if marks[name][place]), None) for place in range(len(pairs))]
        left = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
        said = ", ".join(f"{reasons.count(name):,} by {name}" for name in marks if getattr(self, name))
        return (
            left,
            f"filter      {counted(len(pairs) - len(left), 'pair')} of {len(pairs):,} left out: {said}",
        )
