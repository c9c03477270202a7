"""Transformer encoder (Vaswani et al. 2017), which can be combined with all decoders."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.masking import length_mask
from seq2seq.common.numbers import Dropout, Few, Size
from seq2seq.models.encoder import Encoder


class TransformerEncoder(Encoder):
    """Transformer encoder with pre-layer normalization; the summary is the mean of the states.

    Positions are those of `positions`. Vaswani et al., "Attention is all you need", 2017.

    Args:
        input_size: Size E of an embedded token.
        hidden_size: Size of all layers, a multiple of `heads`; None: E. If it differs from E, embedded tokens
            are projected to it.
        num_layers: Number of layers L.
        heads: Number of heads of the self-attention.
        feedforward_size: Hidden size of the feed-forward network of a layer; None: 4 `hidden_size`.
        dropout: Dropout probability within the layers.
        embedding_dropout: Dropout probability of embedded tokens with positions; None: `dropout`.

    Raises:
        ValueError: `hidden_size` is not a multiple of `heads`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: Size | None = None,
        *,
        num_layers: Few = 3,
        heads: Few = 4,
        feedforward_size: Size | None = None,
        dropout: Dropout = 0.1,
        embedding_dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        size = hidden_size or input_size
        if size % heads:
            raise ValueError(f"heads={heads} must divide hidden_size={size}")
        self.output_size = self.summary_size = size
        self.project = nn.Linear(input_size, size) if size != input_size else nn.Identity()
        self.embedding_dropout = nn.Dropout(dropout if embedding_dropout is None else embedding_dropout)
        layer = nn.TransformerEncoderLayer(
            size, heads, feedforward_size or 4 * size, dropout, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, num_layers, norm=nn.LayerNorm(size), enable_nested_tensor=False
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a batch of sentences, see `Encoder.forward`."""
        length = embedded.shape[1]
        projected = self.project(embedded) * math.sqrt(self.output_size)
        inputs = self.embedding_dropout(projected + positions(0, length, projected))
        is_token = length_mask(lengths, length)
        states = self.layers(inputs, src_key_padding_mask=~is_token)
        states = states.masked_fill(~is_token.unsqueeze(-1), 0)
        return states, states.sum(dim=1) / lengths.unsqueeze(1)


def positions(start: int, stop: int, like: Tensor) -> Tensor:
    """Return the sinusoidal positions from `start` to before `stop` (T, d), for vectors (…, d).

    PE(p, 2i) = sin(p / 10000^(2i / d)),  PE(p, 2i + 1) = cos of the same
    """
    size, precise = like.shape[-1], torch.promote_types(like.dtype, torch.float32)
    kind: dict[str, Any] = {"device": like.device, "dtype": precise}
    # numbers, so that an exported graph has them as they are: an error of exp is a thousand times as large at position 1,000
    rates = torch.tensor([10_000 ** (-place / size) for place in range(0, size, 2)], **kind)
    angles = torch.arange(start, stop, **kind).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].to(like.dtype)
