"""Bahdanau decoder: a GRU that looks at the source through attention at every step.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    w_t = softmax over j of score(s_{t-1}, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU([e(y_{t-1}); c_t], s_{t-1}),        o_t = tanh(W_s s_t + b + W_c c_t + W_e e(y_{t-1}))
    p(y_t) = softmax(W_o o_t + b_o)

Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Attention, Memory
from seq2seq.models.decoder import Decoder, masked
from seq2seq.models.layers import Bridge, DeepOutput, Dropout, RecurrentStack, State, output_layer


class BahdanauDecoder(Decoder):
    """The decoder above, with any number of layers: the query is the state of the top one.

    Args:
        embedding: Of the target tokens (V, E).
        memory_size: Size M of the encoder's states.
        summary_size: Size F of the encoder's summary.
        attention: Makes the attention, called with `query_size` and `memory_size`.
        hidden_size: Size H of a layer's state.
        num_layers: Layers above each other; the context enters the lowest.
        cell: ``gru`` or ``lstm``.
        readout_size: Size R of the deep output o; None: o_t = s_t.
        initial_state: s_0: ``linear`` or ``copy`` of the encoder's summary, or ``zeros``, see `Bridge`.
        query_with_embedding: The query is [s_{t-1}; e(y_{t-1})]: the attention knows the last token.
        dropout: Between layers, and of embedded tokens and features where these have none of their own.
        embedding_dropout: Of embedded tokens; None: `dropout`.
        output_dropout: Of the features o; None: `dropout`.
        variational_dropout: Drop the same elements of all tokens of a sentence.
        tie_output: W_o is the embedding; R must be E.
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
        initial_state: str = "linear",
        query_with_embedding: bool = False,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        embedding_size = embedding.embedding_dim
        query_size = hidden_size + (embedding_size if query_with_embedding else 0)
        self.query_with_embedding = query_with_embedding
        self.embedding = embedding
        self.embedding_dropout = Dropout(
            dropout if embedding_dropout is None else embedding_dropout, variational=variational_dropout
        )
        self.attention = attention(query_size=query_size, memory_size=memory_size)
        # W [e; c] = W_e e + W_c c: the share of the embedded tokens is computed for all steps at once
        self.stack = RecurrentStack(
            cell, embedding_size, hidden_size, num_layers, Dropout(dropout, variational=variational_dropout)
        )
        self.context_gates = nn.Linear(memory_size, self.stack.gates_size, bias=False)
        self.bridge = Bridge(initial_state, summary_size, self.stack.state_size, num_layers)
        self.readout = (
            DeepOutput(hidden_size, memory_size, embedding_size, readout_size) if readout_size else None
        )
        self.output_dropout = Dropout(
            dropout if output_dropout is None else output_dropout, variational=variational_dropout
        )
        self.output = output_layer(readout_size or hidden_size, embedding, tied=tie_output)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Advance by one token, see `Decoder.step`: the definition of this decoder."""
        states, of_attention = state[: len(self.stack)], state[len(self.stack) :]
        mask, *between, of_features = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), mask)  # (N, E)
        query = self.stack.top(states)  # (N, H)
        if self.query_with_embedding:
            query = torch.cat([query, embedded], dim=-1)
        context, weights, of_attention = self.attention(query, memory, of_attention)  # (N, M), (N, S)
        if memory.projected:
            of_gates, of_readout = context.tensor_split([self.stack.gates_size], dim=-1)
        else:
            of_gates = self.context_gates(context)
            of_readout = None if self.readout is None else self.readout.context(context)
        states = self.stack(self.stack.input_gates(embedded) + of_gates, states, between)
        features = self.stack.top(states)
        if self.readout is not None:
            features = self.readout(features, of_readout, embedded)
        return self.output_dropout(features, of_features), (*states, *of_attention), weights

    def for_search(self, memory: Memory) -> Memory:
        """Return a memory of W_c m_j and W_r m_j, whose means are W_c c and W_r c: once a source token.

        W_c and W_r are those of the cell and of the deep output. A search has more hypotheses and steps than a
        source has tokens. Where the attention may do more than take a mean, the memory stays as it is.
        """
        if type(self.attention) is not Attention:
            return memory
        projected = [self.context_gates(memory.states)]
        if self.readout is not None:
            projected.append(self.readout.context(memory.states))
        return replace(memory, states=torch.cat(projected, dim=-1), projected=True)

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing, see `Decoder.forward`: the steps, with what they share computed at once."""
        state = self.initial_state(memory)
        states, of_attention = state[: len(self.stack)], state[len(self.stack) :]
        mask, *between, of_features = (None if each is None else each.unsqueeze(1) for each in memory.masks)
        embedded = self.embedding_dropout(self.embedding(target_input), mask)  # (B, T, E)
        gates_of_embedded = self.stack.input_gates(embedded)  # (B, T, G)
        between = [None if each is None else each.squeeze(1) for each in between]

        tops, contexts, weights = [], [], []
        for of_token, gates in zip(embedded.unbind(1), gates_of_embedded.unbind(1), strict=True):
            query = self.stack.top(states)
            if self.query_with_embedding:
                query = torch.cat([query, of_token], dim=-1)
            context, of_step, of_attention = self.attention(query, memory, of_attention)
            states = self.stack(gates + self.context_gates(context), states, between)
            tops.append(self.stack.top(states))
            contexts.append(context)
            weights.append(of_step)

        features = torch.stack(tops, dim=1)  # (B, T, H)
        if self.readout is not None:
            features = self.readout(features, self.readout.context(torch.stack(contexts, dim=1)), embedded)
        features = self.output_dropout(features, of_features)
        return masked(features, target_lengths), masked(torch.stack(weights, dim=1), target_lengths)
