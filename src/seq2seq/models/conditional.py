"""Conditional GRU decoder: a cell with the token as input, attention, and a cell with the context as input.

With e(y) the embedding of a token y and m_j the encoder output for source token j:

    s'_t = GRU_1(e(y_{t-1}), s_{t-1})
    w_t = softmax over j of score(s'_t, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU_2(c_t, s'_t),                    o_t = tanh(W_s s_t + b + W_c c_t + W_e e(y_{t-1}))

The conditional GRU with attention of dl4mt and Nematus: Sennrich et al., "Nematus: a toolkit for neural
machine translation", 2017. The query depends on the previous token, and the state s_t on the context c_t.
"""

from collections.abc import Callable
from typing import Unpack

from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder, RecurrentOptions
from seq2seq.models.layers import DeepOutput


class ConditionalDecoder(RecurrentDecoder):
    """The decoder above; further layers follow GRU_2. Arguments as in `BahdanauDecoder`."""

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: Callable[..., nn.Module],
        hidden_size: Size = 256,
        readout_size: Size | None = None,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        size = embedding.embedding_dim
        sizes = {"hidden_size": hidden_size, "feature_size": readout_size or hidden_size}
        super().__init__(embedding, summary_size, input_size=memory_size, **sizes, **options)
        self.token_cell = type(self.stack.cells[0])(
            size, hidden_size
        )  # GRU_1; GRU_2 is the lowest of the stack
        self.attention = attention(query_size=hidden_size, memory_size=memory_size)
        self.readout = DeepOutput(hidden_size, memory_size, size, readout_size) if readout_size else None

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Compute one step, see `Decoder.step`."""
        (first, *higher), attention_state = state[: len(self.stack)], state[len(self.stack) :]
        embedded = self.embed(tokens)
        first = self.token_cell(self.token_cell.input_gates(embedded), first)
        query = self.token_cell.output(first)  # s'_t
        context, weights, attention_state = self.attention(query, memory, attention_state)
        states = self.stack(self.stack.input_gates(context), (first, *higher))
        features = self.stack.top(states)
        if self.readout is not None:
            features = self.readout(features, context, embedded)
        return self.output_dropout(features), (*states, *attention_state), weights
