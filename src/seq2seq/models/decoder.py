"""Base class of decoders, with teacher forcing as a loop over steps."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import length_mask
from seq2seq.models.layers import Bridge, State


class Decoder(nn.Module, ABC):
    """Base class of decoders, which compute features of the next token from the source and the previous tokens.

    A custom decoder implements `step` and sets the attributes below; training (`forward`) and all searches use
    `step`. Its constructor is called with ``embedding``, ``memory_size``, ``summary_size``, ``tie_output`` and the
    arguments from the configuration.

    Attributes:
        has_attention: Whether `step` returns attention weights. If True, the attribute `attention` is required.
        embedding: Embedding of the target tokens (V, E).
        output: Layer from features to logits (R -> V).
        bridge: Layer from the encoder's summary to the initial states.
    """

    has_attention = True
    embedding: nn.Embedding
    output: nn.Linear
    bridge: Bridge

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Compute the memory of encoded sentences, which all steps use.

        Args:
            states: Encoder outputs (B, S, M).
            source_is_token: True on real tokens (B, S).
            summary: Summary of each sentence by the encoder (B, F).
        """
        keys = self.attention.init_memory(states) if self.has_attention else states
        return Memory(states, keys, source_is_token, summary, self.masks(states))

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step: tensors whose first dimension is the sentence (B)."""
        states = self.bridge(memory.summary)
        return (*states, *self.attention.initial_state(memory)) if self.has_attention else states

    def for_search(self, memory: Memory) -> Memory:
        """Return a memory with which `step` is faster for many hypotheses per sentence; by default unchanged."""
        return memory

    def masks(self, like: Tensor) -> tuple[Tensor | None, ...]:
        """Return masks of variational dropout: of embedded tokens, of all layers but the highest, of features."""
        if not hasattr(self, "stack"):
            return ()
        sentences, hidden = len(like), self.stack.cells[0].hidden_size
        return (
            self.embedding_dropout.mask_like(like.new_empty(sentences, self.embedding.embedding_dim)),
            *(self.stack.dropout.mask_like(like.new_empty(sentences, hidden)) for _ in self.stack.cells[1:]),
            self.output_dropout.mask_like(like.new_empty(sentences, self.output.in_features)),
        )

    @abstractmethod
    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor | None]:
        """Compute one step: the features of the next token.

        In a search, each of the B sentences has K adjacent rows, one per hypothesis (N = B K). They share the
        memory of the sentence, which is not repeated.

        Args:
            tokens: Ids of the previous target tokens (N,).
            state: State after the previous step.
            memory: The encoded source sentences (B).

        Returns:
            Features (N, R), which `output` maps to logits; the new state; attention weights (N, S), or None without
            attention.
        """

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Compute features and attention weights of all target positions (teacher forcing).

        Args:
            target_input: Ids of the previous target tokens (B, T).
            memory: The encoded source sentences.
            target_lengths: Number of real tokens of each target (B,), beyond which features and weights are zero;
                None: T for all.

        Returns:
            Features (B, T, R) and attention weights (B, T, S), None without attention.
        """
        state, features, weights = self.initial_state(memory), [], []
        for tokens in target_input.unbind(dim=1):
            step_features, state, step_weights = self.step(tokens, state, memory)
            features.append(step_features)
            weights.append(step_weights)
        stacked = torch.stack(weights, dim=1) if weights[0] is not None else None
        return masked(torch.stack(features, dim=1), target_lengths), masked(stacked, target_lengths)


def masked(steps: Tensor | None, lengths: Tensor | None) -> Tensor | None:
    """Set the positions beyond the lengths (B,) of a tensor (B, T, D) to zero."""
    if steps is None or lengths is None:
        return steps
    return steps.masked_fill(~length_mask(lengths, steps.shape[1]).unsqueeze(2), 0)
