"""Decoder of Sutskever et al. without attention; the encoder's summary initializes its state.

With e(y) the embedding of a token y, and s_0 computed from the final states of the encoder:

    s_t = LSTM(e(y_{t-1}), s_{t-1}),  o_t = s_t, or tanh(W_s s_t + b) with a readout

Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014; their source is
reversed (`model.reverse_source=true`).
"""

from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.models.decoder import Decoder
from seq2seq.models.layers import Bridge, RecurrentStack, State, dropouts, output_layer


class PlainDecoder(Decoder):
    """The decoder above, with one or more layers. Arguments as in `BahdanauDecoder`.

    Args:
        attention: Unused; this decoder has no attention.
    """

    has_attention = False

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: None = None,
        hidden_size: int = 256,
        num_layers: int = 1,
        cell: str = "gru",
        readout_size: int | None = None,
        initial_state: str = "linear",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout, layer_dropout, self.output_dropout = dropouts(
            (embedding_dropout, None, output_dropout), dropout, variational=variational_dropout
        )
        self.stack = RecurrentStack(cell, embedding.embedding_dim, hidden_size, num_layers, layer_dropout)
        self.bridge = Bridge(initial_state, summary_size, self.stack.state_size, num_layers)
        self.readout = (
            nn.Sequential(nn.Linear(hidden_size, readout_size), nn.Tanh()) if readout_size else nn.Identity()
        )
        self.output = output_layer(readout_size or hidden_size, embedding, tied=tie_output)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, None]:
        """Compute one step, see `Decoder.step`."""
        embedding_mask, *layer_masks, output_mask = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), embedding_mask)
        states = self.stack(self.stack.input_gates(embedded), state, layer_masks)
        features = self.readout(self.stack.top(states))
        return self.output_dropout(features, output_mask), states, None
