"""Change batches before the model reads them: duplication for R-Drop, word dropout."""

from dataclasses import replace

import torch
from torch import Tensor

from seq2seq.data.batch import Batch, SourceBatch
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID


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
