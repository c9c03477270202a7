"""Guided alignment: a loss of attention weights against gold links between words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seq2seq.data.batch import Batch, EncodedSplit
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.words import split_words
from seq2seq.evaluation.alignment import GoldAlignment, word_indices


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Gold links of a sentence pair, and the word indices of its tokens.

    Attributes:
        gold: Links between words.
        source_words: Index of the word of each source token without ``<eos>``, see `word_indices`.
        target_words: Index of the word of each target token without ``<eos>``.
    """

    gold: GoldAlignment
    source_words: list[int | None]
    target_words: list[int | None]

    @classmethod
    def of(
        cls, split: EncodedSplit, index: int, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
    ) -> "AlignedPair":
        """Return the pair with an index in a split; it must have links."""
        pair = split.pairs[index]
        sides = [
            word_indices(tokenizer.tokens(text), split_words(tokenizer.prepared(text)))[: len(ids)]
            for tokenizer, text, ids in (
                (source_tokenizer, pair.source, split.source[index]),
                (target_tokenizer, pair.target, split.target[index]),
            )
        ]
        return cls(GoldAlignment.from_links(pair.alignment or (), pair.possible), *sides)


class GuidedAlignment:
    """Loss of attention weights against gold links.

    Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural machine translation",
    2016. With a(t, j) the attention weight of target token t on source token j, the loss is

        - sum over t, j of q(t, j) log a(t, j)

    where q(t, j) is a uniform distribution over the source tokens of the words that are linked to the word of t: by
    sure links if it has any, else by possible links. Target tokens without links are not part of the sum.

    Args:
        split: The training split; pairs without links have no loss.
        tokenizers: Source tokenizer and target tokenizer.
    """

    def __init__(self, split: EncodedSplit, tokenizers: Sequence[Tokenizer]) -> None:
        self._split, self._tokenizers = split, tokenizers
        self._cells: dict[int, list[tuple[int, int, float]]] = {}

    def loss(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return the sum over a batch with attention weights (B, T, S).

        Weights of zero, which sparse attention has, are replaced by the smallest positive number.
        """
        q = self.target_distribution(batch).to(weights)
        return -(q * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum()

    def target_distribution(self, batch: Batch) -> Tensor:
        """Return q (B, T, S), with rows of zeros for tokens without links."""
        q = np.zeros((*batch.target_output.shape, batch.source.ids.shape[1]), np.float32)
        for matrix, index in zip(q, batch.sentence_ids.tolist(), strict=True):
            if index not in self._cells:
                self._cells[index] = self._shares(index)
            for row, column, share in self._cells[index]:
                matrix[row, column] = share
        return torch.from_numpy(q)

    def _shares(self, index: int) -> list[tuple[int, int, float]]:
        """Return row, column and value of the nonzero elements of q of a pair."""
        if self._split.pairs[index].alignment is None:
            return []
        pair = AlignedPair.of(self._split, index, *self._tokenizers)
        cells = []
        for row, target in enumerate(pair.target_words):
            columns = (
                [at for at, source in enumerate(pair.source_words) if (source, target) in links]
                for links in (pair.gold.sure, pair.gold.possible)
            )
            linked = next(filter(None, columns), [])
            cells += [(row, at, 1 / len(linked)) for at in linked]
        return cells
