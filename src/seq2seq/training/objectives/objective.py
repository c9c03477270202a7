"""Options of every training objective: word dropout, guided alignment."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor

from seq2seq.common.errors import InputError
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import Prepared, prepared_of
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.losses import LossSums
from seq2seq.training.objectives.guided_alignment import GuidedAlignment


class Trained(Protocol):
    """What objectives use of a `TranslationModule`."""

    model: Seq2Seq
    global_step: int
    trainer: Any

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the training loss of a batch."""
        ...

    def log(self, name: str, value: Tensor, *, sync_dist: bool) -> None:
        """Log a value."""
        ...


Objective = Callable[[Any, Batch], tuple[LossSums, Tensor | None]]
"""Function of a module and a batch of the training split that returns the sums of the batch, whose `objective` is
minimized, and the attention weights (B, T, h, S) or None."""


class ObjectiveWithOptions:
    """An objective of batches that are changed before it, and whose sums are changed after it.

    Args:
        objective: The objective itself.
        word_dropout: Probability of replacing an input token by ``<unk>``.
        guided_alignment_weight: Weight of the loss of the attention weights against gold alignments.
    """

    def __init__(self, objective: Objective, word_dropout: float, guided_alignment_weight: float) -> None:
        self.objective, self.word_dropout = objective, word_dropout
        self.guided_alignment_weight = guided_alignment_weight
        self._guided: tuple[Prepared | None, GuidedAlignment] | None = None

    def __call__(self, module: Trained, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the sums of a batch, and the attention weights (B, T, h, S).

        Raises:
            InputError: Weights are to be guided, and the objective returns none, or the corpus has no links.
        """
        if self.word_dropout:
            batch = drop_words(batch, self.word_dropout)
        sums, weights = self.objective(module, batch)
        if self.guided_alignment_weight:
            if weights is None:
                raise InputError(
                    "module.objective returns no attention weights: set guided_alignment_weight=0"
                )
            loss = self._guided_alignment(module).loss(weights.mean(dim=2), batch)  # of all heads
            sums = replace(sums, objective=sums.objective + self.guided_alignment_weight * loss)
        return sums, weights

    def _guided_alignment(self, module: Trained) -> GuidedAlignment:
        """Return the loss for the links of the corpus that the trainer uses now."""
        data = prepared_of(module.trainer)
        if self._guided is None or self._guided[0] is not data:
            self._guided = data, GuidedAlignment.of(module.model, data)
        return self._guided[1]


def drop_words(batch: Batch, probability: float) -> Batch:
    """Return a batch in which tokens of the source and of the target input are ``<unk>`` at random.

    Word dropout (Iyyer et al. 2015; Bowman et al. 2016 for the decoder's input). The tokens that are to be
    predicted stay, and so do ``<bos>``, ``<eos>`` and padding.
    """

    def dropped(ids: Tensor) -> Tensor:
        chosen = torch.rand(ids.shape, device=ids.device) < probability
        return ids.masked_fill(chosen & (ids >= len(SPECIALS)), UNKNOWN_ID)

    source = replace(batch.source, ids=dropped(batch.source.ids))
    return replace(batch, source=source, target_input=dropped(batch.target_input))
