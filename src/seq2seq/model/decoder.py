"""Bahdanau decoder: a GRU that looks at the source through attention at every step.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    w_t = softmax over j of score(s_{t-1}, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU([e(y_{t-1}); c_t], s_{t-1}),        o_t = readout(s_t, c_t, e(y_{t-1}))

Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate",
2015. With `query_has_token` the attention knows the word that was just written: its query is
[s_{t-1}; e(y_{t-1})] in place of s_{t-1}, for the additive score W_q s_{t-1} + W_y e(y_{t-1}).

`step` is the definition; `seq2seq.model.fused` computes the same faster.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2seq.attention.masking import length_mask
from seq2seq.model.contracts import Decoder, MemoryAttention
from seq2seq.model.layers import Dropout, GRULayer, Readout
from seq2seq.model.memory import Encoded, Memory, State


class BahdanauDecoder(nn.Module):
    """The decoder above, with any number of layers: the query is the state of the top one.

    Args:
        embedding: target embedding (V, E).
        attention: pools the memory; made for these queries and keys of size `key_size`.
        memory_size: size M of the encoder outputs.
        key_size: None where the memory itself is the key; otherwise the memory is projected to
            this size first (for scores that need queries and keys of equal size).
        query_has_token: whether the query is state and embedded token, or the state alone.
        hidden_size: size H of each layer.
        num_layers: GRU layers.
        initial_state: ``encoder``: the encoder's final states, through a layer where the sizes
            differ; ``zeros``.
        dropout: on the embedded tokens, between the layers, and on the features.
        readout: turns state, context and embedded token into features.
        output: turns features into logits (R -> V).
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        attention: MemoryAttention,
        memory_size: int,
        key_size: int | None,
        query_has_token: bool,
        hidden_size: int,
        num_layers: int,
        initial_state: str,
        dropout: Dropout,
        readout: Readout,
        output: nn.Linear,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.attention = attention
        self.readout = readout
        self.output = output
        self.dropout = dropout
        self.key_projection = (
            nn.Identity() if key_size is None else nn.Linear(memory_size, key_size, bias=False)
        )
        self.bridge = nn.ModuleList(
            _bridge(initial_state, memory_size, hidden_size) for _ in range(num_layers)
        )
        input_sizes = [embedding.embedding_dim] + [hidden_size] * (num_layers - 1)
        self.first_layer, *upper = (GRULayer(size, hidden_size) for size in input_sizes)
        self.upper_layers = nn.ModuleList(upper)
        self.context_gates = nn.Linear(memory_size, 3 * hidden_size, bias=False)
        self.query_has_token = query_has_token
        self._mask_sizes = [*input_sizes, readout.feature_size]

    @property
    def layers(self) -> list[GRULayer]:
        """The first layer and those above it."""
        return [self.first_layer, *self.upper_layers]

    def remember(self, encoded: Encoded) -> Memory:
        """Project the keys, and draw the dropout that all tokens of a sentence share."""
        keys = self.key_projection(encoded.states)
        first = encoded.states[:, 0]
        return Memory(
            states=encoded.states,
            keys=keys,
            projected_keys=self.attention.remember(keys),
            source_is_token=encoded.source_is_token,
            final_states=encoded.final_states,
            masks=tuple(
                self.dropout.of_sentences(first.new_empty(len(first), size))
                for size in self._mask_sizes
            ),
        )

    def initial_state(self, memory: Memory) -> State:
        """One tensor a layer (N, H), the top layer last, then what the attention keeps."""
        pairs = zip(self.bridge, memory.final_states, strict=True)
        return (*(bridge(final) for bridge, final in pairs), *self.attention.initial_state(memory))

    def step(
        self, tokens: Int[Tensor, " N"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One step: the definition of this decoder.

        A search gives several rows to each sentence, N = B K: those of the first sentence, then
        those of the second. They share its memory, which is not repeated.

        Args:
            tokens: ids of the previous target tokens.
            state: state after the previous step.
            memory: the encoded source sentences.

        Returns:
            Features, which `output` turns into logits of the next token; the new state; and the
            attention weights.
        """
        states, of_attention = state[: len(self.bridge)], state[len(self.bridge) :]
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout(self.embedding(tokens), of_embedded)
        query = self.first_layer.output(states[-1])
        if self.query_has_token:
            query = torch.cat([query, embedded], dim=-1)
        context, weights, of_attention = self.attention.attend(query, memory, of_attention)
        gates = self.first_layer.inputs(embedded) + self.context_gates(context)
        new = [self.first_layer.advance(gates, states[0])]
        for layer, previous, mask in zip(self.layers[1:], states[1:], between_layers, strict=True):
            below = self.dropout(layer.output(new[-1]), mask)
            new.append(layer.advance(layer.inputs(below), previous))
        top = self.first_layer.output(new[-1])
        features = self.dropout(self.readout(top, context, embedded), of_features)
        return features, (*new, *of_attention), weights


class _Zeros(nn.Module):
    """A state of zeros in place of the encoder's."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self._hidden_size = hidden_size

    def forward(self, final: Float[Tensor, "B M"]) -> Float[Tensor, "B H"]:
        return final.new_zeros(len(final), self._hidden_size)


def _bridge(initial_state: str, memory_size: int, hidden_size: int) -> nn.Module:
    """From a layer's final state in the encoder to its first in the decoder."""
    if initial_state == "zeros":
        return _Zeros(hidden_size)
    if memory_size == hidden_size:
        return nn.Identity()
    return nn.Sequential(nn.Linear(memory_size, hidden_size), nn.Tanh())


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Result of a teacher-forced pass.

    Attributes:
        features: what the output layer turns into logits (B, T, R).
        weights: attention probabilities (B, T, S).
    """

    features: Float[Tensor, "B T R"]
    weights: Float[Tensor, "B T S"]


def unroll(
    decoder: Decoder,
    target_input: Int[Tensor, "B T"],
    memory: Memory,
    target_lengths: Int[Tensor, " B"] | None = None,
) -> Unrolled:
    """Teacher forcing, for any decoder: its steps one after the other, from the initial state.

    Args:
        decoder: what makes the steps.
        target_input: ids of the previous target tokens.
        memory: the encoded source sentences.
        target_lengths: number of real tokens of each target sentence, at least 1: features and
            weights of the others are zero. None for all.
    """
    state, steps = decoder.initial_state(memory), []
    for tokens in target_input.unbind(dim=1):
        features, state, weights = decoder.step(tokens, state, memory)
        steps.append((features, weights))
    features, weights = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
    if target_lengths is None:
        return Unrolled(features, weights)
    is_token = length_mask(target_lengths, target_input.shape[1]).unsqueeze(2)
    return Unrolled(features.masked_fill(~is_token, 0), weights.masked_fill(~is_token, 0))
