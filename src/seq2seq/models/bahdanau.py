"""Bahdanau decoder: a GRU with attention over the source at every step.

With e(y) the embedding of a token y and m_j the encoder output for source token j:

    w_t = softmax over j of score(s_{t-1}, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU([e(y_{t-1}); c_t], s_{t-1}),        o_t = tanh(W_s s_t + b + W_c c_t + W_e e(y_{t-1}))
    p(y_t) = softmax(W_o o_t + b_o)

The gates of the GRU are computed from W_x [e; c] + b_x and from s_{t-1}. The matrix is kept in two parts, W_x [e; c] =
W_1 e + W_2 c: since W_1 e + b_x does not depend on the state, `forward` computes it for all steps at once.

Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015.
"""

from collections.abc import Callable
from typing import Unpack

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder, RecurrentOptions
from seq2seq.models.layers import DeepOutput, pack_steps, padded


class BahdanauDecoder(RecurrentDecoder):
    """The decoder above, with one or more layers; the query is the state of the top layer.

    Args:
        embedding: Embedding of the target tokens (V, E).
        memory_size: Size M of an encoder state.
        summary_size: Size F of the encoder's summary.
        attention: Factory of the attention, called with `query_size` and `memory_size`.
        hidden_size: Size H of the state of a layer.
        readout_size: Size R of the deep output o; None: o_t = s_t.
        query_with_embedding: Whether the query is [s_{t-1}; e(y_{t-1})] instead of s_{t-1}.
        **options: Layers, cell, first state, dropout and tying, see `RecurrentDecoder`.
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
        query_with_embedding: bool = False,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        size = embedding.embedding_dim
        sizes = {"input_size": size, "hidden_size": hidden_size, "feature_size": readout_size or hidden_size}
        # makes `embedding`; `stack`, a GRU cell for each layer, the lowest with W_1 and b_x; `bridge`, for s_0; `output`,
        # W_o and b_o, which loss and searches apply; `embedding_dropout` and `output_dropout`
        super().__init__(embedding, summary_size, **sizes, **options)
        self.context_gates = nn.Linear(memory_size, self.stack.gates_size, bias=False)  # W_2
        query_size = hidden_size + (size if query_with_embedding else 0)
        self.attention = attention(query_size=query_size, memory_size=memory_size)
        self.readout = DeepOutput(hidden_size, memory_size, size, readout_size) if readout_size else None
        self.query_with_embedding = query_with_embedding

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Return the memory, with W_k m_j, which all steps use."""
        return Memory(states, self.attention.project_keys(states), source_is_token, summary)

    def initial_state(self, memory: Memory) -> State:
        """Return s_0 of each layer, and the state of the attention, () in most kinds of attention."""
        return (*self.bridge(memory.summary), *self.attention.initial_state(memory))

    def recur(
        self, embedded: Tensor, gates: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, Tensor, Tensor, State]:
        """Compute the equations of a step from e(y_{t-1}) (N, E), its gates W_1 e + b_x (N, G) and the previous state.

        A state has s_{t-1} of each layer (N, H), then the state of the attention, if it has one.

        Returns:
            s_t of the top layer (N, H), c_t (N, M), w_t (N, h, S), and the new state.
        """
        num_layers = len(self.stack)
        states, attention_state = state[:num_layers], state[num_layers:]
        query = self.stack.top(states)  # s_{t-1}
        if self.query_with_embedding:
            query = torch.cat([query, embedded], dim=-1)
        context, weights, attention_state = self.attention(query, memory, attention_state)
        gates = gates + self.context_gates(context)  # W_x [e(y_{t-1}); c_t] + b_x
        states = self.stack(gates, states)  # s_t = GRU(…, s_{t-1}), layer by layer
        return self.stack.top(states), context, weights, (*states, *attention_state)

    def features(self, top: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """Return o_t of steps from s_t, c_t and e(y_{t-1}), each (…, its size), after dropout."""
        features = top if self.readout is None else self.readout(top, context, embedded)
        return self.output_dropout(features)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Return features (N, R), the new state, and weights (N, h, S), from tokens y_{t-1} (N,) and the previous state."""
        embedded = self.embedding_dropout(self.embedding(tokens))  # e (N, E)
        gates = self.stack.input_gates(embedded)  # W_1 e + b_x (N, G)
        top, context, weights, state = self.recur(embedded, gates, state, memory)
        return self.features(top, context, embedded), state, weights

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return features (B, T, R) and weights (B, T, h, S) of all steps (teacher forcing), in a loop over `recur` only."""
        packed, sizes, order = pack_steps(target_input, target_lengths)  # n tokens, step by step
        embedded = self.embedding_dropout(self.embedding(packed.data))  # e (n, E)
        gates = self.stack.input_gates(embedded)  # W_1 e + b_x (n, G)
        memory = memory.select(order)
        state, steps = self.initial_state(memory), []
        for size, e, x in zip(sizes, embedded.split(sizes), gates.split(sizes), strict=True):
            if size < len(memory.states):  # the shortest sentences have ended
                memory, state = memory.select(slice(size)), tuple(part[:size] for part in state)
            *step, state = self.recur(e, x, state, memory)  # step: top, context, weights
            steps.append(step)
        tops, contexts, weights = zip(*steps, strict=True)
        features = self.features(torch.cat(tops), torch.cat(contexts), embedded)
        length = target_input.shape[1]
        return padded([features], packed, length), padded(weights, packed, length)
