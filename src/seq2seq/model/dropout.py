"""Dropout with cheap random numbers."""

import torch
from torch import Tensor, nn

from seq2seq.model.unroll.steps import Steps

LEVELS = 2**16
"""Random numbers have 16 bits: p is rounded to a multiple of 1 / 65536."""


class Dropout(nn.Module):
    """Zeroes elements with probability p in training, and scales the others by 1 / (1 - p).

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    On a CPU `torch.nn.Dropout` spends several times as long on its random numbers: here each 64
    random bits decide about four elements.

    Args:
        p: probability of a zero, from 0 to below 1.
        by_sentence: drop the same elements of all tokens of a sentence: variational dropout (Gal
            and Ghahramani 2016), of inputs and outputs.
    """

    def __init__(self, p: float, *, by_sentence: bool = False) -> None:
        super().__init__()
        self.p = p
        self.by_sentence = by_sentence

    def forward(
        self, inputs: Tensor, steps: Steps | None = None, time: int | None = None
    ) -> Tensor:
        """Drop elements, or return the inputs themselves outside training.

        Args:
            inputs: of any shape.
            steps: says which sentence each row belongs to, where the inputs are packed.
            time: the dimension of the tokens of a sentence, where they are not. Where neither is
                given, each row is a token of another sentence.
        """
        if inputs.device.type != "cpu" and not self.by_sentence:
            return nn.functional.dropout(inputs, self.p, self.training)
        mask = self.mask(inputs, steps, time)
        return inputs if mask is None else inputs * mask

    def mask(
        self, like: Tensor, steps: Steps | None = None, time: int | None = None
    ) -> Tensor | None:
        """What inputs of that shape and type would be multiplied with; None for nothing."""
        if not self.training or not self.p:
            return None
        if self.by_sentence and steps is not None:
            return self._drawn(like[: steps.counts[0]])[steps.sentences]
        if self.by_sentence and time is not None:
            like = like.narrow(time, 0, 1)
        return self._drawn(like)

    def _drawn(self, like: Tensor) -> Tensor:
        if like.device.type != "cpu":
            return nn.functional.dropout(torch.ones_like(like), self.p)
        return keep_mask(like, self.p)

    def extra_repr(self) -> str:
        """Shown in the module's representation."""
        return f"p={self.p}, by_sentence={self.by_sentence}"


def keep_mask(inputs: Tensor, p: float) -> Tensor:
    """A tensor of the inputs' shape and type: 0 with probability p, else 1 / (1 - p)."""
    num_dropped = round(p * LEVELS)
    bits = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    kept, dropped = inputs.new_tensor([LEVELS / (LEVELS - num_dropped), 0])
    return torch.where(numbers >= num_dropped - LEVELS // 2, kept, dropped)
