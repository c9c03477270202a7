"""A translated sentence."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seq2seq.evaluation.alignment import argmax_links
from seq2seq.text.vocabulary import END


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated sentence.

    Attributes:
        text: the translation.
        source_tokens: tokens of the source, ``<eos>`` included: the columns of `weights`.
        target_tokens: tokens of the translation, ``<eos>`` included: the rows of `weights`.
        score: natural log-probability of the target tokens.
        weights: attention probabilities; without entries where they were not asked for
            and of a model without attention.
    """

    text: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    score: float
    weights: Tensor

    def alignment(self) -> list[tuple[int, int]]:
        """(source, target) places: each target token with the source token it attends to most.

        ``<eos>`` is left out on both sides, and so is a token that attends to nothing else.
        """
        if not self.weights.numel():
            return []
        links = argmax_links(self.weights[:, : len(self.source_tokens) - 1])
        in_order = sorted(links, key=lambda link: link[1])
        return [link for link in in_order if self.target_tokens[link[1]] != END]

    def as_dict(self) -> dict[str, Any]:
        """What JSON can hold of it; attention with four digits."""
        return {
            "translation": self.text,
            "score": self.score,
            "source_tokens": self.source_tokens,
            "target_tokens": self.target_tokens,
            "attention": [[round(w, 4) for w in row] for row in self.weights.tolist() if row],
            "alignment": self.alignment(),
        }


EMPTY = Translation("", (), (), 0.0, torch.zeros(0, 0))
"""The translation of a blank line."""
