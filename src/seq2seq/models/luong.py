"""Decoder of Luong et al.: the query is the new state, and the attentional vector is an input of the next step.

With e(y) the embedding of a token y and m_j the encoder output for source token j:

    s_t = GRU([e(y_{t-1}); a_{t-1}], s_{t-1})
    w_t = softmax over j of score(s_t, m_j),  c_t = sum over j of w_tj m_j
    a_t = tanh(W_a [c_t; s_t]),               p(y_t) = softmax(W_o a_t + b_o)

Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation", 2015, with
the attentional vector a_t and input feeding. Without input feeding s_t = GRU(e(y_{t-1}), s_{t-1}).
"""

from collections.abc import Callable
from typing import Unpack

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder, RecurrentOptions


class LuongDecoder(RecurrentDecoder):
    """The decoder above, with one or more layers; s_t is the state of the top layer.

    Arguments as in `BahdanauDecoder`; `readout_size` is the size of a_t (None: H).

    Args:
        input_feeding: Whether the attentional vector of the previous step is an input.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: Callable[..., nn.Module],
        hidden_size: Size = 256,
        readout_size: Size | None = None,
        input_feeding: bool = True,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        size = readout_size or hidden_size
        fed_size = size if input_feeding else 0
        sizes = {"input_size": embedding.embedding_dim + fed_size, "hidden_size": hidden_size}
        super().__init__(embedding, summary_size, feature_size=size, **sizes, **options)
        self.fed_size = fed_size
        self.attention = attention(query_size=hidden_size, memory_size=memory_size)
        self.attentional = nn.Linear(memory_size + hidden_size, size, bias=False)  # W_a

    def initial_state(self, memory: Memory) -> State:
        """Return one tensor per layer, a_0 = 0 (B, 0 without input feeding), and the state of the attention."""
        fed = memory.states.new_zeros(memory.states.shape[0], self.fed_size)
        return (*self.bridge(memory.summary), fed, *self.attention.initial_state(memory))

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Compute one step, see `Decoder.step`."""
        states, (fed, *attention_state) = state[: len(self.stack)], state[len(self.stack) :]
        embedded = self.embed(tokens)
        gates = self.stack.input_gates(torch.cat([embedded, fed.to(embedded.dtype)], dim=-1))
        states = self.stack(gates, states)
        top = self.stack.top(states)
        context, weights, attention_state = self.attention(top, memory, tuple(attention_state))
        attentional = torch.tanh(self.attentional(torch.cat([context, top.to(context.dtype)], dim=-1)))
        features = self.output_dropout(attentional)
        return features, (*states, attentional[:, : self.fed_size], *attention_state), weights
