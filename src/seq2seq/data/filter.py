"""Training pairs that are left out before any are held out: ``data.filter``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt

from seq2seq.common.progress import counted
from seq2seq.data.text import SentencePair, normalize

SHORT = 20
"""Characters of the longer side from which on lengths are compared."""


@dataclass(frozen=True)
class Filter:
    """Which training pairs are left out.

    Attributes:
        max_ratio: Those whose lengths in characters have a ratio that is so many times the usual one, the median, or so many
            times smaller; of pairs with `SHORT` characters on a side. None: none.
        duplicates: Whether those that repeat an earlier one, source and target.
        same: Whether those whose sides are the same, but for case and punctuation.
    """

    max_ratio: Annotated[float, Gt(1)] | None = None
    duplicates: bool = False
    same: bool = False

    def kept(self, pairs: Sequence[SentencePair]) -> tuple[list[SentencePair], str]:
        """Return the pairs that are left, and a line that counts the others by the first reason that applies."""
        texts = [pair.texts for pair in pairs]
        lengths = np.array([[len(source) + 1, len(target) + 1] for source, target in texts]).reshape(-1, 2)
        folds = np.log(lengths[:, 0] / lengths[:, 1])
        usual = np.median(folds[lengths.max(axis=1) > SHORT]) if (lengths.max(axis=1) > SHORT).any() else 0.0
        is_odd = (np.abs(folds - usual) > np.log(self.max_ratio or np.inf)) & (lengths.max(axis=1) > SHORT)
        seen, left = set[tuple[str, ...]](), list[SentencePair]()
        counts = {"duplicates": 0, "same": 0, "max_ratio": 0}
        for pair, own, odd in zip(pairs, texts, is_odd.tolist(), strict=True):
            key = (pair.languages, *own)
            if self.duplicates and key in seen:
                counts["duplicates"] += 1
            elif self.same and normalize(own[0]) == normalize(own[1]) and not pair.is_blank:
                counts["same"] += 1
            elif odd:
                counts["max_ratio"] += 1
            else:
                left.append(pair)
            seen.add(key)
        said = ", ".join(f"{counts[name]:,} by {name}" for name in counts if getattr(self, name))
        return (
            left,
            f"filter      {counted(len(pairs) - len(left), 'pair')} of {len(pairs):,} left out: {said}",
        )
