"""A translated sentence, and the count of unknown tokens in many sentences."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seq2seq.common.progress import counted
from seq2seq.data.report import listed
from seq2seq.data.vocabulary import END, UNKNOWN
from seq2seq.evaluation.alignment import argmax_links


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated sentence, or a text of several, which follow each other.

    Attributes:
        text: The translation.
        source_tokens: Tokens of the source, the ``<eos>`` of each sentence included: the columns of `weights`.
        target_tokens: Tokens of the translation, the ``<eos>`` of each sentence included: the rows of `weights`.
        score: Natural log-probability of the target tokens.
        weights: Attention weights (target, source); empty if they were not requested, or if the model has no
            attention.
        heads: Weights of each head (heads, target, source), see `Hypothesis`; None if there is one head, or if attention was
            not requested.
        unknown: Unknown tokens of the source, see `Tokenizer.unknown`; then those of a translation that was given.
        rank: Place among the translations of the sentence, from 1, the best.
        ids: Ids of the target tokens, which show no joints and may stand for several.
        is_guess: Whether the model is less sure of it than of its own text, see `Knowledge`; None if that is not known.
    """

    text: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    score: float
    weights: Tensor
    unknown: tuple[str, ...] = ()
    heads: Tensor | None = None
    rank: int = 1
    ids: tuple[int, ...] = ()
    is_guess: bool | None = None

    @property
    def confidence(self) -> float:
        """Mean log-probability of a target token; 0 without any."""
        return self.score / max(1, len(self.target_tokens))

    def alignment(self) -> list[tuple[int, int]]:
        """Return (source, target) indices: each target token with its most attended source token.

        ``<eos>`` is left out on both sides, that of each sentence; a token that attends only to ``<eos>`` has no link.
        """
        if not self.weights.numel():
            return []
        places = [place for place, token in enumerate(self.source_tokens) if token != END]
        links = sorted(argmax_links(self.weights[:, places]), key=lambda link: link[1])
        return [(places[i], j) for i, j in links if self.target_tokens[j] != END]

    def named_heads(self) -> list[tuple[str, Tensor]]:
        """Return the weights of each head (target, source) after its name, such as "layer 2, head 1"; none of a single one."""
        if self.heads is None:
            return []
        names = [f"head {number}" for number in range(1, self.heads.shape[-3] + 1)]
        layers = (
            [f"layer {number}, " for number in range(1, self.heads.shape[0] + 1)]
            if self.heads.ndim > 3
            else [""]
        )
        named = (f"{layer}{name}" for layer in layers for name in names)
        return list(zip(named, self.heads.flatten(0, -3), strict=True))

    def marked_source(self) -> tuple[str, ...]:
        """Return the source tokens, with each ``<unk>`` replaced by the unknown word in brackets."""
        words = iter(self.unknown)
        return tuple(f"[{next(words, t)}]" if t == UNKNOWN else t for t in self.source_tokens)

    def unknown_note(self) -> str:
        """Return a line that names the unknown tokens; an empty text if there is none."""
        return f"[unknown to the model: {', '.join(self.unknown)}]" if self.unknown else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the translation as JSON values; weights are rounded to four digits."""
        every = self.heads.double().round(decimals=4) if self.heads is not None else None
        return {
            "translation": self.text,
            "score": self.score,
            "source_tokens": self.source_tokens,
            "target_tokens": self.target_tokens,
            "attention": [[round(w, 4) for w in row] for row in self.weights.tolist() if row],
            **({} if every is None else {"heads": every.tolist()}),
            "alignment": self.alignment(),
            "unknown": self.unknown,
            **({} if self.is_guess is None else {"guess": self.is_guess}),
        }


EMPTY = Translation("", (), (), 0.0, torch.zeros(0, 0))
"""The translation of a blank line."""


MOST_NAMED = 10_000
"""Maximum number of different unknown tokens that are counted one by one."""


class UnknownCount:
    """Count of the unknown tokens in the lines of a text."""

    def __init__(self) -> None:
        self._by_token: Counter[str] = Counter()
        self._num_tokens = self._num_lines = self._num_with = 0

    def add(self, translations: Iterable[Translation]) -> None:
        """Count the unknown tokens of each translated line."""
        for unknown in (translation.unknown for translation in translations):
            self._num_lines += 1
            self._num_with += bool(unknown)
            self._num_tokens += len(unknown)
            room = MOST_NAMED - len(self._by_token)
            new = [t for t in dict.fromkeys(unknown) if t not in self._by_token][room:]
            self._by_token.update(t for t in unknown if t not in new)

    def warnings(self) -> list[str]:
        """Return a line with the counts; an empty list if there are no unknown tokens."""
        if not self._num_tokens:
            return []
        where = f"{self._num_with:,} of {counted(self._num_lines, 'line')}"
        found = counted(self._num_tokens, "token")
        return [f"WARNING: unknown to the model: {found} in {where}{listed(self._by_token)}"]
