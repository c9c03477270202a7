"""Words left out of what the model reads, so that it cannot rely on any one of them."""

from dataclasses import replace

import torch
from torch import Tensor

from seq2seq.text.batch import Batch
from seq2seq.text.vocabulary import SPECIALS, UNKNOWN_ID


def drop_words(batch: Batch, probability: float) -> Batch:
    """A batch in which tokens of the source and of the target input are ``<unk>`` at random.

    Word dropout (Iyyer et al. 2015; Bowman et al. 2016 for the decoder's input). The tokens that
    are to be predicted stay, and so do ``<bos>``, ``<eos>`` and padding.

    Args:
        batch: as it came.
        probability: of leaving out a token.
    """
    source = replace(batch.source, ids=_dropped(batch.source.ids, probability))
    return replace(batch, source=source, target_input=_dropped(batch.target_input, probability))


def _dropped(ids: Tensor, probability: float) -> Tensor:
    chosen = torch.rand(ids.shape, device=ids.device) < probability
    return ids.masked_fill(chosen & (ids >= len(SPECIALS)), UNKNOWN_ID)
