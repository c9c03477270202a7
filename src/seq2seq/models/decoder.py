"""Base class of decoders, with teacher forcing as a loop over steps."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import length_mask
from seq2seq.models.layers import Bridge, DeepOutput, RecurrentStack, State, dropouts, output_layer


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

    def masks(self, like: Tensor) -> tuple[Tensor | None, ...]:
        """Return the masks of variational dropout that a `Memory` keeps; by default none."""
        return ()

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


class RecurrentDecoder(Decoder):
    """Base class of the decoders of this package: a stack of cells, its first states, and an optional deep output.

    Args:
        embedding: Embedding of the target tokens (V, E).
        summary_size: Size F of the encoder's summary.
        input_size: Size of the input of the lowest cell.
        context_size: Size of the context in the deep output; None: no deep output of a context.
        hidden_size: Size H of the state of a layer.
        num_layers: Number of layers L.
        cell: ``gru`` or ``lstm``.
        readout_size: Size R of the deep output o; None: o_t = s_t.
        initial_state: How to compute s_0 from the encoder's summary: ``linear``, ``copy`` or ``zeros``, see `Bridge`.
        dropout: Dropout probability between layers, and the default of the next two arguments.
        embedding_dropout: Dropout probability of embedded tokens; None: `dropout`.
        output_dropout: Dropout probability of the features o; None: `dropout`.
        variational_dropout: Whether all tokens of a sentence share a dropout mask.
        tie_output: Whether W_o is the weight of the embedding; R must then equal E.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        summary_size: int,
        *,
        input_size: int,
        context_size: int | None = None,
        hidden_size: int = 256,
        num_layers: int = 1,
        cell: str = "gru",
        readout_size: int | None = None,
        initial_state: str = "linear",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout, layer_dropout, self.output_dropout = dropouts(
            (embedding_dropout, None, output_dropout), dropout, variational=variational_dropout
        )
        self.stack = RecurrentStack(cell, input_size, hidden_size, num_layers, layer_dropout)
        self.bridge = Bridge(initial_state, summary_size, self.stack.state_size, num_layers)
        has_readout = readout_size is not None and context_size is not None
        parts = (hidden_size, context_size, embedding.embedding_dim, readout_size)
        self.readout = DeepOutput(*parts) if has_readout else None
        self.output = output_layer(readout_size or hidden_size, embedding, tied=tie_output)

    def masks(self, like: Tensor) -> tuple[Tensor | None, ...]:
        """Return masks of variational dropout: of embedded tokens, of all layers but the highest, of features."""
        sentences, hidden = len(like), self.stack.cells[0].hidden_size
        return (
            self.embedding_dropout.mask_like(like.new_empty(sentences, self.embedding.embedding_dim)),
            *(self.stack.dropout.mask_like(like.new_empty(sentences, hidden)) for _ in self.stack.cells[1:]),
            self.output_dropout.mask_like(like.new_empty(sentences, self.output.in_features)),
        )


def masked(steps: Tensor | None, lengths: Tensor | None) -> Tensor | None:
    """Set the positions beyond the lengths (B,) of a tensor (B, T, D) to zero."""
    if steps is None or lengths is None:
        return steps
    return steps.masked_fill(~length_mask(lengths, steps.shape[1]).unsqueeze(2), 0)
