"""A decoder whose output layer has rows of one norm, so that it writes rare words as readily as frequent ones.

    logits = r V o + b, where V are the rows of the layer divided by their norms

Nguyen and Chiang, "Improving lexical choice in neural machine translation", 2018; here r is learned.

A class of your own that changes one layer of the program's:

    PYTHONPATH=examples python train.py model.decoder._target_=fixed_norm.FixedNormDecoder

What loads the model needs PYTHONPATH=examples and --trust-custom-code, too.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from seq2seq.models import BahdanauDecoder


class FixedNormDecoder(BahdanauDecoder):
    """A Bahdanau decoder with such an output layer; arguments as there."""

    def __init__(self, embedding: nn.Embedding, memory_size: int, summary_size: int, **options: Any) -> None:
        super().__init__(embedding, memory_size, summary_size, **options)
        nn.init.zeros_(self.output.bias)
        parametrize.register_parametrization(self.output, "weight", OneNorm())  # (V, R), or the embedding's


class OneNorm(nn.Module):
    """Give each row of a matrix the norm r, which is learned and begins near 3."""

    def __init__(self) -> None:
        super().__init__()
        self.log_norm = nn.Parameter(torch.tensor(1.1))

    def forward(self, weight: Tensor) -> Tensor:
        """Return the matrix with rows of norm r."""
        return self.log_norm.exp() * nn.functional.normalize(weight, dim=1)
