"""Guided alignment: a loss of the attention against gold links between words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seq2seq.data.batch import Batch, EncodedSplit
from seq2seq.data.text import split_words
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.evaluation.alignment import GoldAlignment, word_indices


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Gold links of a pair, and the word that each of its tokens belongs to, ``<eos>`` left out."""

    gold: GoldAlignment
    source_words: list[int | None]
    target_words: list[int | None]

    @classmethod
    def of(
        cls, split: EncodedSplit, index: int, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
    ) -> "AlignedPair":
        """Return a pair of a split that has links; the tokens of a side may have been cut."""
        pair = split.pairs[index]
        sides = [
            word_indices(tokenizer.tokens(text), split_words(text))[: len(ids)]
            for tokenizer, text, ids in (
                (source_tokenizer, pair.source, split.source[index]),
                (target_tokenizer, pair.target, split.target[index]),
            )
        ]
        return cls(GoldAlignment.from_links(pair.alignment or (), pair.possible), *sides)


class GuidedAlignment:
    """The loss of attention against gold links.

    Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural machine translation",
    2016. With a(t, j) the attention weight of target token t on source token j, and q(t) a distribution over
    the source tokens that are linked with t, it is

        - sum over t, j of q(t, j) log a(t, j)

    over the target tokens that have links: equal shares on the tokens of the words that the word of t is
    linked with, by sure links if there are any, else by possible ones.

    Args:
        split: The training split; pairs without links are left out.
        tokenizers: Of source and target.
    """

    def __init__(self, split: EncodedSplit, tokenizers: Sequence[Tokenizer]) -> None:
        self._split, self._tokenizers = split, tokenizers
        self._cells: dict[int, list[tuple[int, int, float]]] = {}

    def loss(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return the sum for a batch with attention weights (B, T, S).

        A weight of zero, as sparse attention has, counts as the least number that there is.
        """
        wanted = self.wanted(batch).to(weights)
        return -(wanted * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum()

    def wanted(self, batch: Batch) -> Tensor:
        """Return q (B, T, S); rows of zeros for tokens without links."""
        found = np.zeros((*batch.target_output.shape, batch.source.ids.shape[1]), np.float32)
        for matrix, index in zip(found, batch.sentence_ids.tolist(), strict=True):
            if index not in self._cells:
                self._cells[index] = self._shares(index)
            for row, column, share in self._cells[index]:
                matrix[row, column] = share
        return torch.from_numpy(found)

    def _shares(self, index: int) -> list[tuple[int, int, float]]:
        """Return row, column and value of what is not zero in q of a pair."""
        if self._split.pairs[index].alignment is None:
            return []
        pair = AlignedPair.of(self._split, index, *self._tokenizers)
        cells = []
        for row, target in enumerate(pair.target_words):
            of_links = (
                [at for at, source in enumerate(pair.source_words) if (source, target) in links]
                for links in (pair.gold.sure, pair.gold.possible)
            )
            linked = next(filter(None, of_links), [])
            cells += [(row, at, 1 / len(linked)) for at in linked]
        return cells
