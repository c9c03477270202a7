"""Decoder of Sutskever et al. without attention; the encoder's summary initializes its state.

With e(y) the embedding of a token y, and s_0 computed from the final states of the encoder:

    s_t = LSTM(e(y_{t-1}), s_{t-1}),  o_t = s_t, or tanh(W_s s_t + b) with a readout

Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014; their source is
reversed (`model.reverse_source=true`).
"""

from typing import Unpack

from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder, RecurrentOptions


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
        hidden_size: Size = 256,
        readout_size: Size | None = None,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        sizes = {"hidden_size": hidden_size, "feature_size": readout_size or hidden_size}
        super().__init__(embedding, summary_size, input_size=embedding.embedding_dim, **sizes, **options)
        self.readout: nn.Module = nn.Identity()
        if readout_size:
            self.readout = nn.Sequential(nn.Linear(hidden_size, readout_size), nn.Tanh())  # W_s and b

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, None]:
        """Compute one step, see `Decoder.step`."""
        embedded = self.embed(tokens)
        states = self.stack(self.stack.input_gates(embedded), state)
        features = self.readout(self.stack.top(states))
        return self.output_dropout(features), states, None
