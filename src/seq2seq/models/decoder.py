"""What every decoder has: the base class, and teacher forcing by a plain loop over its steps."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import length_mask
from seq2seq.models.layers import Bridge, State


class Decoder(nn.Module, ABC):
    """From encoded sentences and the tokens so far to features of the next token.

    A decoder of your own implements `step`, and has the attributes below. The plain loop of `forward`
    then trains it, and every search works with it. Its constructor is called with ``embedding``,
    ``memory_size``, ``summary_size`` and ``tie_output`` besides its own arguments.

    Attributes:
        has_attention: Whether `step` returns attention weights.
        embedding: Of the target tokens (V, E).
        output: From features to logits (R -> V).
        bridge: From the encoder's summary to the first states.
    """

    has_attention = True
    embedding: nn.Embedding
    output: nn.Linear
    bridge: Bridge

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Return what every step needs of the encoded sentences, computed once a sentence.

        Args:
            states: Encoder outputs (B, S, M).
            source_is_token: True on real tokens (B, S).
            summary: The encoder's summary (B, F).
        """
        keys = self.attention.init_memory(states) if self.has_attention else states
        return Memory(states, keys, source_is_token, summary, self.masks(states))

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step: tensors whose first dimension is the sentence (B)."""
        states = self.bridge(memory.summary)
        return (*states, *self.attention.initial_state(memory)) if self.has_attention else states

    def for_search(self, memory: Memory) -> Memory:
        """Return a memory with which `step` does less work for many hypotheses of a sentence; here the same."""
        return memory

    def masks(self, like: Tensor) -> tuple[Tensor | None, ...]:
        """Return variational dropout of embedded tokens, of the layers but the top one, of features."""
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
        """Advance by one token.

        A search gives several rows to each sentence, N = B K, those of a sentence beside each other. They
        share its memory, which is not repeated.

        Args:
            tokens: Ids of the previous target tokens (N,).
            state: State after the previous step.
            memory: The encoded source sentences.

        Returns:
            Features (N, R), which `output` turns into logits of the next token; the new state; attention
            weights (N, S), or None without attention.
        """

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing: features and weights of every target position.

        Args:
            target_input: Ids of the previous target tokens (B, T).
            memory: The encoded source sentences.
            target_lengths: Real tokens of each target (B,); features and weights of the others are zero.
                None for all.

        Returns:
            Features (B, T, R) and attention weights (B, T, S), None without attention.
        """
        state, features, weights = self.initial_state(memory), [], []
        for tokens in target_input.unbind(dim=1):
            of_step, state, of_attention = self.step(tokens, state, memory)
            features.append(of_step)
            weights.append(of_attention)
        stacked = torch.stack(weights, dim=1) if weights[0] is not None else None
        return masked(torch.stack(features, dim=1), target_lengths), masked(stacked, target_lengths)


def masked(steps: Tensor | None, lengths: Tensor | None) -> Tensor | None:
    """Return (B, T, D) with zeros after each length (B,)."""
    if steps is None or lengths is None:
        return steps
    return steps.masked_fill(~length_mask(lengths, steps.shape[1]).unsqueeze(2), 0)
