"""Luong's decoder: the attention looks with the new state, and its result is fed to the next step.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    s_t = GRU([e(y_{t-1}); a_{t-1}], s_{t-1})
    w_t = softmax over j of score(s_t, m_j),  c_t = sum over j of w_tj m_j
    a_t = tanh(W_a [c_t; s_t]),               p(y_t) = softmax(W_o a_t + b_o)

Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation", 2015: the
attentional vector a, with input feeding; without it s_t = GRU(e(y_{t-1}), s_{t-1}).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.models.decoder import Decoder
from seq2seq.models.layers import Bridge, Dropout, RecurrentStack, State, output_layer


class LuongDecoder(Decoder):
    """The decoder above, with any number of layers; s is the state of the top one.

    Arguments as in `BahdanauDecoder`; `readout_size` is the size of a (None: H).

    Args:
        input_feeding: Whether a step reads the attentional vector of the step before.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: Callable[..., nn.Module],
        hidden_size: int = 256,
        num_layers: int = 1,
        cell: str = "gru",
        readout_size: int | None = None,
        input_feeding: bool = True,
        initial_state: str = "linear",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        size = readout_size or hidden_size
        self.fed_size = size if input_feeding else 0
        self.embedding = embedding
        self.embedding_dropout = Dropout(
            dropout if embedding_dropout is None else embedding_dropout, variational=variational_dropout
        )
        self.stack = RecurrentStack(
            cell,
            embedding.embedding_dim + self.fed_size,
            hidden_size,
            num_layers,
            Dropout(dropout, variational=variational_dropout),
        )
        self.bridge = Bridge(initial_state, summary_size, self.stack.state_size, num_layers)
        self.attention = attention(query_size=hidden_size, memory_size=memory_size)
        self.attentional = nn.Linear(memory_size + hidden_size, size, bias=False)
        self.output_dropout = Dropout(
            dropout if output_dropout is None else output_dropout, variational=variational_dropout
        )
        self.output = output_layer(size, embedding, tied=tie_output)

    def initial_state(self, memory: Memory) -> State:
        """Return one tensor a layer, then a of zeros (B, 0 where it is not fed), then the attention's."""
        fed = memory.states.new_zeros(memory.states.shape[0], self.fed_size)
        return (*self.bridge(memory.summary), fed, *self.attention.initial_state(memory))

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Advance by one token, see `Decoder.step`."""
        states, (fed, *of_attention) = state[: len(self.stack)], state[len(self.stack) :]
        mask, *between, of_features = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), mask)
        gates = self.stack.input_gates(torch.cat([embedded, fed.to(embedded.dtype)], dim=-1))
        states = self.stack(gates, states, between)
        top = self.stack.top(states)
        context, weights, of_attention = self.attention(top, memory, tuple(of_attention))
        attentional = torch.tanh(self.attentional(torch.cat([context, top.to(context.dtype)], dim=-1)))
        features = self.output_dropout(attentional, of_features)
        return features, (*states, attentional[:, : self.fed_size], *of_attention), weights
