"""Bahdanau decoder: a GRU that looks at the source through attention at every step.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    w_t = softmax over j of score(s_{t-1}, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU([e(y_{t-1}); c_t], s_{t-1}),        o_t = readout(s_t, c_t, e(y_{t-1}))

Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate",
2015. With `query_has_token` the attention knows the word that was just written: its query is
[s_{t-1}; e(y_{t-1})] in place of s_{t-1}, for the additive score W_q s_{t-1} + W_y e(y_{t-1}).

`step` is the definition; `seq2seq.model.fused` computes the same faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2seq.attention.masking import length_mask
from seq2seq.model.contracts import Decoder
from seq2seq.model.layers import Layer, advance_layers
from seq2seq.model.memory import Memory, State
from seq2seq.model.parts import AttendingDecoder, Parts


class BahdanauDecoder(AttendingDecoder):
    """The decoder above, with any number of layers: the query is the state of the top one.

    Where the score needs queries and keys of equal size the keys are projected to it first.
    Dropout acts on the embedded tokens, between the layers, and on the features.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.query_has_token = parts.spec.query == "state_and_token"
        query_size = parts.hidden_size + parts.embedding_size * self.query_has_token
        readout, (attention, key_size) = parts.readout(), parts.attention(query_size)
        self.embedding, self.attention, self.readout = parts.embedding, attention, readout
        self.output = parts.output(readout.feature_size)
        self.dropout = parts.dropouts()
        self.key_projection = parts.key_projection(key_size)
        self.bridge = parts.bridge()
        self.first_layer, *upper = parts.layers(parts.embedding_size)
        self.upper_layers = nn.ModuleList(upper)
        self.context_gates = parts.context_gates()
        self._mask_sizes = parts.mask_sizes(readout.feature_size)

    @property
    def layers(self) -> list[Layer]:
        """The first layer and those above it."""
        return [self.first_layer, *self.upper_layers]

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One step: the definition of this decoder.

        A search gives several rows to each sentence, N = B K: those of the first sentence, then
        those of the second. They share its memory, which is not repeated.

        Args:
            embedded: the previous target tokens, embedded.
            state: state after the previous step.
            memory: the encoded source sentences.

        Returns:
            Features, which `output` turns into logits of the next token; the new state; and the
            attention weights.
        """
        states, of_attention = state[: len(self.bridge)], state[len(self.bridge) :]
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout.inputs(embedded, of_embedded)
        query = self.first_layer.output(states[-1])
        if self.query_has_token:
            query = torch.cat([query, embedded], dim=-1)
        context, weights, of_attention = self.attention.attend(query, memory, of_attention)
        gates = self.first_layer.inputs(embedded) + self.context_gates(context)
        new = advance_layers(self.layers, gates, states, self.dropout.between, between_layers)
        top = self.first_layer.output(new[-1])
        features = self.dropout.outputs(self.readout(top, context, embedded), of_features)
        return features, (*new, *of_attention), weights


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Result of a teacher-forced pass.

    Attributes:
        features: what the output layer turns into logits (B, T, R).
        weights: attention probabilities (B, T, S); None of a decoder without attention.
    """

    features: Float[Tensor, "B T R"]
    weights: Float[Tensor, "B T S"] | None


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
    state, features, weights = decoder.initial_state(memory), [], []
    for embedded in decoder.embedding(target_input).unbind(dim=1):
        of_step, state, of_attention = decoder.step(embedded, state, memory)
        features.append(of_step)
        if of_attention is not None:
            weights.append(of_attention)
    is_token = None
    if target_lengths is not None:
        is_token = length_mask(target_lengths, target_input.shape[1]).unsqueeze(2)
    return Unrolled(_stacked(features, is_token), _stacked(weights, is_token) if weights else None)


def _stacked(steps: Sequence[Tensor], is_token: Tensor | None) -> Float[Tensor, "B T D"]:
    stacked = torch.stack(list(steps), dim=1)
    return stacked if is_token is None else stacked.masked_fill(~is_token, 0)
