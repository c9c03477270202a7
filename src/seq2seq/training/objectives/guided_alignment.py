"""Guided alignment: a loss of attention weights against gold links between words."""

from itertools import product

import numpy as np
import torch
from torch import Tensor

from seq2seq.common.errors import InputError
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import Prepared
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.gold_pairs import GoldPairs

MOST_TRIED = 1000
"""Pairs with links, of which the tokens of one at least must spell its words."""


class GuidedAlignment:
    """Loss of attention weights against gold links.

    Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural machine translation",
    2016. With a(t, j) the attention weight of target token t on source token j, the loss is

        - sum over t, j of q(t, j) log a(t, j)

    where q(t, j) is a uniform distribution over the source tokens of the words that are linked to the words of t: by
    sure links if there are any, else by possible links. Target tokens without links are not part of the sum.

    Args:
        pairs: Those of the training split that have links; others have no loss.
    """

    def __init__(self, pairs: GoldPairs) -> None:
        self._pairs = pairs
        self._cells: dict[int, list[tuple[int, int, float]]] = {}

    @classmethod
    def of(cls, model: Seq2Seq, data: Prepared | None) -> "GuidedAlignment":
        """Return the loss of a model with attention on the training pairs of a corpus.

        Raises:
            InputError: The model has no attention, no pair has links, or the tokens spell the words of none; None,
                without a `TranslationDataModule`, has none. Or tokens are drawn in each epoch.
        """
        if not model.decoder.has_attention:
            raise InputError("module.guided_alignment_weight needs a decoder with attention")
        linked = [] if data is None else [n for n, pair in enumerate(data.train.pairs) if pair.alignment]
        if data is None or not linked:
            raise InputError("module.guided_alignment_weight needs gold links: set data.alignments")
        if any(getattr(each, "sampling", None) for each in (data.source_tokenizer, data.target_tokenizer)):
            raise InputError(
                "module.guided_alignment_weight needs the same tokens in each epoch: leave out data.tokenizer.sampling"
            )
        pairs = GoldPairs.of(data, "train")
        if not any(map(pairs.get, linked[:MOST_TRIED])):
            raise InputError(
                "module.guided_alignment_weight needs tokens that spell the words: choose another data.tokenizer"
            )
        return cls(pairs)

    def loss(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return the sum over a batch with attention weights (B, T, S).

        Weights of zero, which sparse attention has, are replaced by the smallest positive number.
        """
        weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
        q = self.target_distribution(batch).to(weights)
        return -(q * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum()

    def target_distribution(self, batch: Batch) -> Tensor:
        """Return q (B, T, S), with rows of zeros for tokens without links."""
        q = np.zeros((*batch.target_output.shape, batch.source.ids.shape[1]))
        for matrix, index in zip(q, batch.sentence_ids.tolist(), strict=True):
            if index not in self._cells:
                self._cells[index] = self._shares(index)
            for row, column, share in self._cells[index]:
                matrix[row, column] = share
        return torch.from_numpy(q)

    def _shares(self, index: int) -> list[tuple[int, int, float]]:
        """Return row, column and value of the nonzero elements of q of a pair."""
        pair = self._pairs.get(index)
        if pair is None:
            return []
        cells = []
        for row, targets in enumerate(pair.target_words):
            columns = (
                [
                    at
                    for at, each in enumerate(pair.source_words)
                    if not links.isdisjoint(product(each, targets))
                ]
                for links in (pair.gold.sure, pair.gold.possible)
            )
            linked = next(filter(None, columns), [])
            cells += [(row, at, 1 / len(linked)) for at in linked]
        return cells
