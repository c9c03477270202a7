"""Decoder of Sutskever et al. without attention; the encoder's summary initializes its state.

With e(y) the embedding of a token y, and s_0 computed from the final states of the encoder:

    s_t = LSTM(e(y_{t-1}), s_{t-1}),  o_t = s_t, or tanh(W_s s_t + b) with a readout

Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014; their source is
reversed (`model.reverse_source=true`).
"""

from typing import Any

from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.models.decoder import RecurrentDecoder
from seq2seq.models.layers import State


class PlainDecoder(RecurrentDecoder):
    """The decoder above, with one or more layers. Arguments as in `BahdanauDecoder`; it has no attention."""

    has_attention = False

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: None = None,
        readout_size: int | None = None,
        **options: Any,
    ) -> None:
        options |= {"input_size": embedding.embedding_dim, "readout_size": readout_size}
        super().__init__(embedding, summary_size, **options)
        layer = nn.Linear(self.stack.hidden_size, self.output.in_features)
        self.readout = nn.Sequential(layer, nn.Tanh()) if readout_size else nn.Identity()

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, None]:
        """Compute one step, see `Decoder.step`."""
        embedding_mask, *layer_masks, output_mask = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), embedding_mask)
        states = self.stack(self.stack.input_gates(embedded), state, layer_masks)
        features = self.readout(self.stack.top(states))
        return self.output_dropout(features, output_mask), states, None
