"""The translation model whose encoder reads the source in reverse order."""

import torch
from torch import Tensor

from seq2seq.attention.attention import Memory
from seq2seq.data.batch import SourceBatch
from seq2seq.models.seq2seq import Seq2Seq


class ReversingSeq2Seq(Seq2Seq):
    """A model whose encoder reads the tokens of each source in reverse order, ``<eos>`` first (Sutskever et al. 2014).

    The states in the memory are in the order of the source.
    """

    reverse_source = True

    def encode(self, source: SourceBatch) -> Memory:
        """Encode source sentences."""
        order = reversed_positions(source.lengths, source.ids.shape[1])
        states, summary = self.encoder(self.source_embedding(source.ids.gather(1, order)), source.lengths)
        states = states.gather(1, order.unsqueeze(2).expand_as(states))  # restores the order
        return self.decoder.init_memory(states, source.is_token, summary)


def reversed_positions(lengths: Tensor, size: int) -> Tensor:
    """Return the position that each position has in the reversed sentence (B, `size`); padding is not moved.

    Reversing twice restores the order, so these are also the positions to restore it with.
    """
    positions = torch.arange(size, device=lengths.device)
    reverse = lengths.unsqueeze(1) - 1 - positions
    return torch.where(reverse < 0, positions, reverse)
