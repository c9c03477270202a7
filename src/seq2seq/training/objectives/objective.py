"""The training objective of a batch: word dropout, R-Drop, the loss of the predictions, guided alignment."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from seq2seq.data.batch import Batch, SourceBatch
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID
from seq2seq.errors import InputError
from seq2seq.training.losses import LossSums

if TYPE_CHECKING:
    from seq2seq.training.module import TranslationModule


def objective_of(module: "TranslationModule", batch: Batch) -> LossSums:
    """Return the sums of a batch whose `objective` is minimized, as the arguments of a `TranslationModule` say.

    Args:
        module: What is trained.
        batch: Sentence pairs of the training split.

    Raises:
        InputError: Weights are to be guided, and the objective returns none.
    """
    if module.rdrop_alpha:
        batch = duplicate_batch(batch)
    if module.word_dropout:
        batch = drop_words(batch, module.word_dropout)
    sums, weights = (module.objective or teacher_forcing)(module, batch)
    if module.guided_alignment is not None:
        if weights is None:
            raise InputError("module.objective returns no attention weights: set guided_alignment_weight=0")
        alignment_loss = module.guided_alignment.loss(weights.mean(dim=2), batch)  # of all heads
        sums = replace(sums, objective=sums.objective + module.guided_alignment_weight * alignment_loss)
    return sums


def teacher_forcing(module: "TranslationModule", batch: Batch) -> tuple[LossSums, Tensor | None]:
    """Return the cross-entropy of the reference tokens, each after those before it, and the attention weights."""
    features, weights = module(batch)
    return module.cross_entropy(batch, features), weights


def duplicate_batch(batch: Batch) -> Batch:
    """Return the batch followed by a copy of itself (2 B pairs), for R-Drop."""
    source = SourceBatch(batch.source.ids.repeat(2, 1), batch.source.lengths.repeat(2))
    targets = batch.target_input.repeat(2, 1), batch.target_output.repeat(2, 1)
    return Batch(source, *targets, batch.target_lengths.repeat(2), batch.sentence_ids.repeat(2))


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
