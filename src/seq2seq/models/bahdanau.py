"""Bahdanau decoder: a GRU with attention over the source at every step.

With e(y) the embedding of a token y and m_j the encoder output for source token j:

    w_t = softmax over j of score(s_{t-1}, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU([e(y_{t-1}); c_t], s_{t-1}),        o_t = tanh(W_s s_t + b + W_c c_t + W_e e(y_{t-1}))
    p(y_t) = softmax(W_o o_t + b_o)

Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.models.decoder import RecurrentDecoder, masked
from seq2seq.models.layers import State


class BahdanauDecoder(RecurrentDecoder):
    """The decoder above, with one or more layers; the query is the state of the top layer.

    Args:
        embedding: Embedding of the target tokens (V, E).
        memory_size: Size M of an encoder state.
        summary_size: Size F of the encoder's summary.
        attention: Factory of the attention, called with `query_size` and `memory_size`.
        query_with_embedding: Whether the query is [s_{t-1}; e(y_{t-1})] instead of s_{t-1}.
        **options: Those of `RecurrentDecoder`; the context is an input of the lowest layer.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: Callable[..., nn.Module],
        query_with_embedding: bool = False,
        **options: Any,
    ) -> None:
        size = embedding.embedding_dim
        super().__init__(embedding, summary_size, input_size=size, context_size=memory_size, **options)
        self.query_with_embedding = query_with_embedding
        query_size = self.stack.hidden_size + (size if query_with_embedding else 0)
        self.attention = attention(query_size=query_size, memory_size=memory_size)
        # the gates of the cell, W_x [e; c] = W_xe e + W_xc c, in two layers: `forward` computes W_xe e for all steps at once
        self.context_gates = nn.Linear(memory_size, self.stack.gates_size, bias=False)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Compute one step, see `Decoder.step`. This is the definition of the decoder."""
        states, attention_state = state[: len(self.stack)], state[len(self.stack) :]
        embedding_mask, *layer_masks, output_mask = memory.masks
        embedded = self.embedding_dropout(self.embedding(tokens), embedding_mask)  # (N, E)
        query = self.stack.top(states)  # (N, H)
        if self.query_with_embedding:
            query = torch.cat([query, embedded], dim=-1)
        context, weights, attention_state = self.attention(query, memory, attention_state)  # (N, M), (N, S)
        states = self.stack(
            self.stack.input_gates(embedded) + self.context_gates(context), states, layer_masks
        )
        features = self.stack.top(states)
        if self.readout is not None:
            features = self.readout(features, self.readout.context(context), embedded)
        return self.output_dropout(features, output_mask), (*states, *attention_state), weights

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute all steps (teacher forcing), see `Decoder.forward`; equal to a loop over `step`, and faster."""
        state = self.initial_state(memory)
        states, attention_state = state[: len(self.stack)], state[len(self.stack) :]
        embedding_mask, *layer_masks, output_mask = memory.masks
        if embedding_mask is not None:
            embedding_mask = embedding_mask.unsqueeze(1)
        if output_mask is not None:
            output_mask = output_mask.unsqueeze(1)
        embedded = self.embedding_dropout(self.embedding(target_input), embedding_mask)  # (B, T, E)
        token_gates = self.stack.input_gates(embedded)  # (B, T, G)

        outputs, contexts, weights = [], [], []
        for embedded_token, gates in zip(embedded.unbind(1), token_gates.unbind(1), strict=True):
            query = self.stack.top(states)
            if self.query_with_embedding:
                query = torch.cat([query, embedded_token], dim=-1)
            context, step_weights, attention_state = self.attention(query, memory, attention_state)
            states = self.stack(gates + self.context_gates(context), states, layer_masks)
            outputs.append(self.stack.top(states))
            contexts.append(context)
            weights.append(step_weights)

        features = torch.stack(outputs, dim=1)  # (B, T, H)
        if self.readout is not None:
            features = self.readout(features, self.readout.context(torch.stack(contexts, dim=1)), embedded)
        features = self.output_dropout(features, output_mask)
        return masked(features, target_lengths), masked(torch.stack(weights, dim=1), target_lengths)
