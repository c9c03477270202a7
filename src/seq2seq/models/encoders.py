"""Encoders: from embedded source tokens to a vector for each of them, and one for the sentence.

The bidirectional GRU of Cho et al. 2014 and Bahdanau et al. 2015, an LSTM (Hochreiter and Schmidhuber
1997), and the encoder of the Transformer (Vaswani et al. 2017).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.attention.masking import length_mask
from seq2seq.models.layers import Dropout


class Encoder(nn.Module):
    """From embedded source tokens to states and a summary.

    An encoder of your own is called with ``input_size`` besides its own arguments, and has the attributes
    below.

    Attributes:
        output_size: Size M of a state.
        summary_size: Size F of a summary.
    """

    output_size: int
    summary_size: int

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode.

        Args:
            embedded: Source tokens (B, S, E).
            lengths: Real tokens of each sentence (B,), at least 1.

        Returns:
            States (B, S, M), zero on padding, and summaries (B, F), from which decoders start.
        """
        raise NotImplementedError


class GRUEncoder(Encoder):
    """A GRU over the source; the summary is the final states of all layers, directions joined.

    Padding changes neither states nor summaries.

    Args:
        input_size: Size E of an embedded token.
        hidden_size: Size H of one direction.
        num_layers: Layers above each other.
        bidirectional: Read in both directions and join their outputs: M = 2 H.
        dropout: Between layers, and of embedded tokens and outputs where these have none of their own.
        embedding_dropout: Of embedded tokens; None: `dropout`.
        output_dropout: Of the states; None: `dropout`.
        variational_dropout: Drop the same elements of all tokens of a sentence.
    """

    recurrent_class: type[nn.GRU] | type[nn.LSTM] = nn.GRU

    def __init__(
        self,
        input_size: int,
        *,
        hidden_size: int = 128,
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = hidden_size * (2 if bidirectional else 1)
        states_of_layer = 2 if self.recurrent_class is nn.LSTM else 1  # [h; c] or h
        self.summary_size = num_layers * states_of_layer * self.output_size
        self.embedding_dropout = Dropout(
            dropout if embedding_dropout is None else embedding_dropout, variational=variational_dropout
        )
        self.dropout = Dropout(dropout, variational=variational_dropout)
        self.output_dropout = Dropout(
            dropout if output_dropout is None else output_dropout, variational=variational_dropout
        )
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.layers = nn.ModuleList(
            self.recurrent_class(size, hidden_size, batch_first=True, bidirectional=bidirectional)
            for size in sizes
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode, see `Encoder.forward`."""
        outputs, finals = embedded, []
        drops = [self.embedding_dropout] + [self.dropout] * (len(self.layers) - 1)
        for layer, drop in zip(self.layers, drops, strict=True):
            inputs = drop(outputs, drop.mask_like(outputs[:, :1]))
            packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
            packed, final = layer(packed)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            for state in final if isinstance(final, tuple) else (final,):  # (directions, B, H)
                finals.append(state.transpose(0, 1).flatten(1))
        return (
            self.output_dropout(outputs, self.output_dropout.mask_like(outputs[:, :1])),
            torch.cat(finals, dim=-1),
        )


class LSTMEncoder(GRUEncoder):
    """The same with an LSTM; the summary is [h; c] of all layers."""

    recurrent_class = nn.LSTM


class TransformerEncoder(Encoder):
    """The encoder of the Transformer, layer normalisation first; the summary is the mean of the states.

    Positions are sinusoidal: PE(p, 2i) = sin(p / 10000^(2i / d)), PE(p, 2i + 1) = cos of the same. Vaswani
    et al., "Attention is all you need", 2017.

    Args:
        input_size: Size E of an embedded token.
        hidden_size: Size of all layers, a multiple of `heads`; None: E. Where it differs from E, embedded tokens
            are projected to it.
        num_layers: Layers above each other.
        heads: Heads of the self-attention.
        feedforward_size: Hidden size of the feed-forward network of a layer; None: four times the size.
        dropout: Within the layers.
        embedding_dropout: Of embedded tokens with their positions; None: as `dropout`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int | None = None,
        *,
        num_layers: int = 3,
        heads: int = 4,
        feedforward_size: int | None = None,
        dropout: float = 0.1,
        embedding_dropout: float | None = None,
    ) -> None:
        super().__init__()
        size = hidden_size or input_size
        if size % heads:
            raise ValueError(f"heads={heads} must divide hidden_size={size}")
        self.output_size = self.summary_size = size
        self.project = nn.Linear(input_size, size) if size != input_size else nn.Identity()
        self.embedding_dropout = Dropout(dropout if embedding_dropout is None else embedding_dropout)
        layer = nn.TransformerEncoderLayer(
            size, heads, feedforward_size or 4 * size, dropout, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, num_layers, norm=nn.LayerNorm(size), enable_nested_tensor=False
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode, see `Encoder.forward`."""
        length, size = embedded.shape[1], self.output_size
        rates = torch.exp(torch.arange(0, size, 2, device=embedded.device) * (-math.log(10_000) / size))
        angles = torch.arange(length, device=embedded.device).unsqueeze(1) * rates
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size]
        projected = self.project(embedded) * math.sqrt(size)
        inputs = self.embedding_dropout(projected + positions.to(projected.dtype))
        is_token = length_mask(lengths, length)
        states = self.layers(inputs, src_key_padding_mask=~is_token)
        states = states.masked_fill(~is_token.unsqueeze(-1), 0)
        return states, states.sum(dim=1) / lengths.unsqueeze(1)
