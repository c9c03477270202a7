"""Dropout with cheap random numbers."""

import torch
from torch import Tensor, nn

LEVELS = 2**16
"""Random numbers have 16 bits: p is rounded to a multiple of 1 / 65536."""


class Dropout(nn.Module):
    """Zeroes elements with probability p in training, and scales the others by 1 / (1 - p).

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    On a CPU `torch.nn.Dropout` spends several times as long on its random numbers: here each 64
    random bits decide about four elements.

    Args:
        p: probability of a zero, from 0 to below 1.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, inputs: Tensor) -> Tensor:
        """Drop elements, or return the inputs themselves outside training."""
        if inputs.device.type != "cpu":
            return nn.functional.dropout(inputs, self.p, self.training)
        mask = self.mask(inputs)
        return inputs if mask is None else inputs * mask

    def mask(self, like: Tensor) -> Tensor | None:
        """What a tensor of that shape and type would be multiplied with; None for nothing."""
        if not self.training or not self.p:
            return None
        if like.device.type != "cpu":
            return nn.functional.dropout(torch.ones_like(like), self.p)
        return keep_mask(like, self.p)

    def extra_repr(self) -> str:
        """Shown in the module's representation."""
        return f"p={self.p}"


def keep_mask(inputs: Tensor, p: float) -> Tensor:
    """A tensor of the inputs' shape and type: 0 with probability p, else 1 / (1 - p)."""
    num_dropped = round(p * LEVELS)
    bits = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    kept, dropped = inputs.new_tensor([LEVELS / (LEVELS - num_dropped), 0])
    return torch.where(numbers >= num_dropped - LEVELS // 2, kept, dropped)
