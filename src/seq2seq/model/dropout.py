"""Dropout with cheap random numbers."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

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
            and Ghahramani 2016), of inputs and outputs. Its masks are drawn once, by
            `of_sentences`, and handed to every call.
    """

    def __init__(self, p: float, *, by_sentence: bool = False) -> None:
        super().__init__()
        self.p = p
        self.by_sentence = by_sentence

    def forward(self, inputs: Tensor, shared: Tensor | None = None) -> Tensor:
        """Drop elements, or return the inputs themselves outside training.

        Args:
            inputs: of any shape.
            shared: what `of_sentences` gave, of a shape that broadcasts to the inputs; None to
                drop each element by itself.
        """
        if not self.training or not self.p:
            return inputs
        if shared is not None:
            return inputs * shared.to(inputs.dtype)
        return inputs * self._drawn(inputs) if _on_cpu(inputs) else dropout(inputs, self.p)

    def of_sentences(self, like: Tensor) -> Tensor | None:
        """What all tokens of a sentence are multiplied with, where they share that; else None.

        Args:
            like: one token of each sentence.
        """
        return self.mask(like) if self.by_sentence else None

    def mask(self, like: Tensor) -> Tensor | None:
        """What inputs of that shape and type would be multiplied with; None for nothing."""
        return self._drawn(like) if self.training and self.p else None

    def _drawn(self, like: Tensor) -> Tensor:
        return keep_mask(like, self.p) if _on_cpu(like) else dropout(torch.ones_like(like), self.p)

    def extra_repr(self) -> str:
        """Shown in the module's representation."""
        return f"p={self.p}, by_sentence={self.by_sentence}"


class Dropouts(nn.Module):
    """The dropout of a recurrent network, each with a probability of its own.

    Args:
        inputs: on the embedded tokens that it reads.
        between: on what a layer reads of the one below.
        outputs: on what it hands on: an encoder's states, a decoder's features.
    """

    def __init__(self, inputs: Dropout, between: Dropout, outputs: Dropout) -> None:
        super().__init__()
        self.inputs, self.between, self.outputs = inputs, between, outputs

    def of_sizes(self, like: Tensor, sizes: Sequence[int]) -> tuple[Tensor | None, ...]:
        """What `Dropout.of_sentences` gives for vectors of each of these sizes.

        Args:
            like: one vector of each sentence, of any size.
            sizes: of a token's embedding, of what each layer but the top one hands up, of outputs.
        """
        dropouts = [self.inputs, *[self.between] * (len(sizes) - 2), self.outputs]
        return tuple(
            dropout.of_sentences(like.new_empty(len(like), size))
            for dropout, size in zip(dropouts, sizes, strict=True)
        )


def _on_cpu(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu"


def keep_mask(inputs: Tensor, p: float) -> Tensor:
    """A tensor of the inputs' shape and type: 0 with probability p, else 1 / (1 - p)."""
    num_dropped = round(p * LEVELS)
    bits = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    kept, dropped = inputs.new_tensor([LEVELS / (LEVELS - num_dropped), 0])
    return torch.where(numbers >= num_dropped - LEVELS // 2, kept, dropped)
