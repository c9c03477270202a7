"""Encoders: a GRU, and an LSTM."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seq2seq.model.fused.recurrence import unroll_layer
from seq2seq.model.fused.steps import Steps
from seq2seq.model.layers import Dropout, Dropouts


class GRUEncoder(nn.Module):
    """Embeds source tokens and runs a GRU over them (Cho et al. 2014).

    Padding changes neither outputs nor states. The parameters are those of `torch.nn.GRU`, which
    also computes on a GPU; elsewhere its layers run as the operation of
    `seq2seq.model.fused.recurrence`, which is faster there.

    Args:
        embedding: source embedding (V, E).
        hidden_size: size of one direction.
        num_layers: stacked GRU layers.
        bidirectional: read in both directions and join their outputs: M = 2 * hidden_size.
        dropout: on the embedded tokens, between the layers and on the outputs.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        hidden_size: int,
        num_layers: int,
        bidirectional: bool,
        dropout: Dropouts,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = dropout
        self.gru = nn.GRU(
            embedding.embedding_dim,
            hidden_size,
            num_layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout.between.p if num_layers > 1 else 0.0,
        )
        self.memory_size = hidden_size * (2 if bidirectional else 1)

    def forward(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], tuple[Float[Tensor, "B M"], ...]]:
        """Encode.

        Args:
            source: token ids.
            source_lengths: number of real tokens, at least 1.

        Returns:
            The outputs of the top layer, zero on padding, and the final state of each layer (both
            directions joined).
        """
        # the GPU's own library knows no mask that several tokens share
        between = self.gru.num_layers > 1 and self.dropout.between.by_sentence
        encode = self._packed if source.is_cuda and not between else self._unrolled
        outputs, final_states = encode(source, source_lengths)
        return _dropped(self.dropout.outputs, outputs), final_states

    def _packed(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """By the GPU's own library."""
        packed = pack_padded_sequence(
            _dropped(self.dropout.inputs, self.embedding(source)),
            lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        outputs, final = self.gru(packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        # nn.GRU's states are the one tensor with the batch second: (layers x directions, B, H)
        by_layer = final.unflatten(0, (self.gru.num_layers, -1))
        return memory, tuple(torch.cat(list(layer), dim=-1) for layer in by_layer)

    def _unrolled(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Layer by layer."""
        layers = [partial(self._layer, layer) for layer in range(self.gru.num_layers)]
        return _read(self.embedding, self.dropout, layers, source, lengths)

    def _layer(self, layer: int, inputs: Tensor, steps: Steps) -> tuple[Tensor, Tensor]:
        """Outputs (N, M) and final state (B, M) of one layer."""
        outputs = self._direction(f"l{layer}", inputs, steps)
        final = steps.last(outputs)
        if not self.gru.bidirectional:
            return outputs, final
        backwards = self._direction(f"l{layer}_reverse", steps.reverse(inputs), steps)
        final = torch.cat([final, steps.last(backwards)], dim=-1)
        return torch.cat([outputs, steps.reverse(backwards)], dim=-1), final

    def _direction(self, name: str, inputs: Tensor, steps: Steps) -> Tensor:
        """States of one direction of a layer, from its first token to its last."""
        weight, bias, input_weight, input_bias = (
            getattr(self.gru, f"{kind}_{name}")
            for kind in ("weight_hh", "bias_hh", "weight_ih", "bias_ih")
        )
        gates = nn.functional.linear(inputs, input_weight, input_bias)
        initial = weight.new_zeros(steps.counts[0], weight.shape[1])
        return unroll_layer(gates, initial, weight, bias, steps)


class LSTMEncoder(nn.Module):
    """The same with an LSTM (Hochreiter and Schmidhuber 1997): a `torch.nn.LSTM` a layer.

    The final states are [h; c] (B, 2 M). Arguments are those of `GRUEncoder`.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        hidden_size: int,
        num_layers: int,
        bidirectional: bool,
        dropout: Dropouts,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = dropout
        self.memory_size = hidden_size * (2 if bidirectional else 1)
        sizes = [embedding.embedding_dim] + [self.memory_size] * (num_layers - 1)
        self.lstm = nn.ModuleList(
            nn.LSTM(size, hidden_size, bidirectional=bidirectional) for size in sizes
        )

    def forward(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], tuple[Float[Tensor, "B C"], ...]]:
        """Encode, see `GRUEncoder`."""
        layers = [partial(_read_lstm, layer) for layer in self.lstm]
        outputs, final = _read(self.embedding, self.dropout, layers, source, source_lengths)
        return _dropped(self.dropout.outputs, outputs), final


def _dropped(dropout: Dropout, padded: Tensor) -> Tensor:
    return dropout(padded, dropout.of_sentences(padded[:, :1]))


def _read_lstm(layer: nn.Module, inputs: Tensor, steps: Steps) -> tuple[Tensor, Tensor]:
    """Outputs (N, M) and final state (B, 2 M) of one layer."""
    outputs, (hidden, cells) = layer(PackedSequence(inputs, torch.tensor(steps.counts)))
    return outputs.data, torch.cat([*hidden, *cells], dim=-1)[steps.order.argsort()]


def _read(
    embedding: nn.Embedding,
    dropouts: Dropouts,
    layers: Sequence[Callable[[Tensor, Steps], tuple[Tensor, Tensor]]],
    source: Tensor,
    lengths: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Layer by layer, tokens packed: outputs of the top one, and every final state."""
    steps = Steps(lengths, source.shape[1])
    outputs, final_states = embedding(steps.pack(source)), []
    between = [dropouts.between] * (len(layers) - 1)
    for layer, dropout in zip(layers, [dropouts.inputs, *between], strict=True):
        shared = dropout.of_sentences(outputs[: steps.counts[0]])
        inputs = dropout(outputs, None if shared is None else shared[steps.sentences])
        outputs, final = layer(inputs, steps)
        final_states.append(final)
    return steps.unpack(outputs), tuple(final_states)
