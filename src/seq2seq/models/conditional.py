"""Conditional GRU decoder: a cell with the token as input, attention, and a cell with the context as input.

With e(y) the embedding of a token y and m_j the encoder output for source token j:

    s'_t = GRU_1(e(y_{t-1}), s_{t-1})
    w_t = softmax over j of score(s'_t, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU_2(c_t, s'_t),                    o_t = tanh(W_s s_t + b + W_c c_t + W_e e(y_{t-1}))

The conditional GRU with attention of dl4mt and Nematus: Sennrich et al., "Nematus: a toolkit for neural
machine translation", 2017. The query depends on the previous token, and the state s_t on the context c_t.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.models.decoder import RecurrentDecoder
from seq2seq.models.layers import CELLS, State


class ConditionalDecoder(RecurrentDecoder):
    """The decoder above; further layers follow GRU_2. Arguments as in `BahdanauDecoder`."""

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: Callable[..., nn.Module],
        cell: str = "gru",
        **options: Any,
    ) -> None:
        sizes = {"input_size": memory_size, "context_size": memory_size}
        super().__init__(embedding, summary_size, cell=cell, **sizes, **options)
        self.attention = attention(query_size=self.stack.hidden_size, memory_size=memory_size)
        self.token_cell = CELLS[cell](embedding.embedding_dim, self.stack.hidden_size)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Compute one step, see `Decoder.step`."""
        (first, *higher), attention_state = state[: len(self.stack)], state[len(self.stack) :]
        embedding_mask, *layer_masks, output_mask = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), embedding_mask)
        first = self.token_cell(self.token_cell.input_gates(embedded), first)
        query = self.token_cell.output(first)
        context, weights, attention_state = self.attention(query, memory, attention_state)
        states = self.stack(self.stack.input_gates(context), (first, *higher), layer_masks)
        features = self.stack.top(states)
        if self.readout is not None:
            features = self.readout(features, self.readout.context(context), embedded)
        return self.output_dropout(features, output_mask), (*states, *attention_state), weights
