"""Bahdanau decoder: a GRU that looks at the source through attention at every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.attention.masking import length_mask
from seq2seq.attention.pooling import Attention
from seq2seq.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from seq2seq.model.dropout import Dropout
from seq2seq.model.gru import GRULayer
from seq2seq.model.memory import Memory, State
from seq2seq.model.readout import Readout
from seq2seq.model.unroll.decoder import AdditiveAttention, DotAttention, unroll_decoder
from seq2seq.model.unroll.steps import Steps


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Result of a teacher-forced pass.

    Attributes:
        features: what the output layer turns into logits (B, T, R).
        weights: attention probabilities (B, T, S).
    """

    features: Float[Tensor, "B T R"]
    weights: Float[Tensor, "B T S"]


Recurrence = Callable[[Tensor, Memory], tuple[Tensor, Tensor, Tensor]]
"""(token gates, memory) -> top states, contexts and attention weights of every token."""


class BahdanauDecoder(nn.Module):
    """Decoder of Bahdanau, Cho and Bengio (2015).

    At step t the query is the top layer's state of step t-1, keys and values are the memory, and
    the context joins the embedded previous token as the input of the first GRU layer:

        c_t = attention(s_{t-1}, memory),  s_t = GRU([embed(y_{t-1}); c_t], s_{t-1})

    Args:
        embedding: target embedding (V, E).
        attention: pools the memory; made for queries of size H and keys of size `key_size`.
        memory_size: size M of the encoder outputs.
        key_size: None where the memory itself is the key; otherwise the memory is projected to
            this size first (for scores that need queries and keys of equal size).
        hidden_size: size H of each layer.
        num_layers: GRU layers.
        initial_state: ``encoder``: the encoder's final states, through a layer where the sizes
            differ; ``zeros``.
        dropout: on the embedded tokens, between the layers, and on the features.
        dropout_by_sentence: one mask for all tokens of a sentence, see `Dropout`; `step` draws a
            mask for each token, since it knows no sentence.
        readout: turns state, context and embedded token into features.
        output: turns features into logits (R -> V).
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        attention: Attention,
        memory_size: int,
        key_size: int | None,
        hidden_size: int,
        num_layers: int,
        initial_state: str,
        dropout: float,
        readout: Readout,
        output: nn.Linear,
        dropout_by_sentence: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.attention = attention
        self.readout = readout
        self.output = output
        self.dropout = Dropout(dropout, by_sentence=dropout_by_sentence)
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

    def remember(
        self,
        states: Float[Tensor, "B S M"],
        source_is_token: Bool[Tensor, "B S"],
        final_states: tuple[Float[Tensor, "B M"], ...],
    ) -> Memory:
        """Prepare the encoder's outputs: project the keys once, derive the initial state."""
        keys = self.key_projection(states)
        initial = (bridge(final) for bridge, final in zip(self.bridge, final_states, strict=True))
        return Memory(
            states=states,
            keys=keys,
            projected_keys=self.attention.project_keys(keys),
            source_is_token=source_is_token,
            initial_state=tuple(initial),
        )

    def step(
        self, tokens: Int[Tensor, " N"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N V"], State, Float[Tensor, "N S"]]:
        """One step: the definition of this decoder.

        A search gives several rows to each sentence, N = B K: those of the first sentence, then
        those of the second. They share its memory, which is not repeated.

        Args:
            tokens: ids of the previous target tokens.
            state: state after the previous step.
            memory: the encoded source sentences.

        Returns:
            Logits of the next token, the new state, and the attention weights.
        """
        embedded = self.dropout(self.embedding(tokens))
        gates = self.first_layer.input_gates(embedded)
        masks = [self.dropout.mask(layer) for layer in state[1:]]
        state, context, weights = self._advance(gates, state, memory, masks)
        features = self.dropout(self.readout(state[-1], context, embedded))
        return self.output(features), state, weights

    def unroll(
        self,
        target_input: Int[Tensor, "B T"],
        memory: Memory,
        target_lengths: Int[Tensor, " B"] | None = None,
    ) -> Unrolled:
        """Teacher forcing: `step` over all of `target_input`, from the initial state.

        With additive, dot, scaled dot and bilinear attention the recurrence is one fused
        operation; with any other score, or dropout on the attention weights, it is
        `unroll_stepwise`.

        Args:
            target_input: ids of the previous target tokens.
            memory: the encoded source sentences.
            target_lengths: number of real tokens of each target sentence, at least 1: no work goes
                into the others, and their features and weights are zero. None for all.
        """
        attention = None if self.attention.dropout.p else self._fused_attention()
        if attention is None:
            return self.unroll_stepwise(target_input, memory, target_lengths)
        lengths = target_lengths
        if lengths is None:
            lengths = torch.full_like(target_input[:, 0], target_input.shape[1])
        steps = Steps(lengths, target_input.shape[1])
        features, weights = self._unroll(
            steps.pack(target_input),
            memory.select(steps.order),
            partial(self._fused, attention, steps),
            partial(self.dropout, steps=steps),
        )
        return Unrolled(steps.unpack(features), steps.unpack(weights))

    def _fused_attention(self) -> AdditiveAttention | DotAttention | None:
        """The score as the fused operation knows it; None for one that it does not know."""
        score, hidden_size = self.attention.score, self.first_layer.state_gates.in_features
        # a subclass may compute something else: the types must be the same
        if type(score) is AdditiveScore:
            return AdditiveAttention(score.query_projection.weight, score.score_weight)
        if type(score) is ScaledDotScore:
            return DotAttention(hidden_size**-0.5)
        if type(score) in (DotScore, BilinearScore):
            return DotAttention(1.0)
        return None

    def unroll_stepwise(
        self,
        target_input: Int[Tensor, "B T"],
        memory: Memory,
        target_lengths: Int[Tensor, " B"] | None = None,
    ) -> Unrolled:
        """The same by a loop over the steps, for any score; padding is computed like tokens."""
        dropout = partial(self.dropout, time=0)
        features, weights = self._unroll(target_input.T, memory, self._loop, dropout)
        if target_lengths is not None:
            is_token = length_mask(target_lengths, len(features)).T.unsqueeze(2)
            features, weights = (part.masked_fill(~is_token, 0) for part in (features, weights))
        return Unrolled(features.transpose(0, 1), weights.transpose(0, 1))

    def _unroll(
        self,
        tokens: Tensor,
        memory: Memory,
        recurrence: Recurrence,
        dropout: Callable[[Tensor], Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Features and weights. What does not depend on the state is computed all at once."""
        embedded = dropout(self.embedding(tokens))
        top, context, weights = recurrence(self.first_layer.input_gates(embedded), memory)
        return dropout(self.readout(top, context, embedded)), weights

    def _fused(
        self,
        attention: AdditiveAttention | DotAttention,
        steps: Steps,
        token_gates: Float[Tensor, "N G"],
        memory: Memory,
    ) -> tuple[Tensor, Tensor, Tensor]:
        hidden_size = self.first_layer.state_gates.in_features
        return unroll_decoder(
            token_gates,
            memory.states,
            memory.projected_keys,
            memory.source_is_token,
            memory.initial_state,
            attention,
            self.context_gates.weight,
            [self.first_layer, *self.upper_layers],
            [self.dropout.mask(token_gates[:, :hidden_size], steps) for _ in self.upper_layers],
            steps,
        )

    def _loop(self, token_gates: Tensor, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        state, hidden_size = memory.initial_state, self.first_layer.state_gates.in_features
        tops, contexts, weights = [], [], []
        like = token_gates[..., :hidden_size]
        masks = [self.dropout.mask(like, time=0) for _ in self.upper_layers]
        for step, gates in enumerate(token_gates.unbind()):
            of_step = [None if mask is None else mask.expand_as(like)[step] for mask in masks]
            state, context, step_weights = self._advance(gates, state, memory, of_step)
            tops.append(state[-1])
            contexts.append(context)
            weights.append(step_weights)
        return torch.stack(tops), torch.stack(contexts), torch.stack(weights)

    def _advance(
        self,
        token_gates: Tensor,
        state: State,
        memory: Memory,
        input_masks: Sequence[Tensor | None],
    ) -> tuple[State, Tensor, Tensor]:
        """Attend with the old state, then advance every layer, the masks between them."""
        context, weights = self.attention(
            state[-1].unflatten(0, (len(memory.states), -1)),
            memory.keys,
            memory.states,
            mask=memory.source_is_token.unsqueeze(1),
            projected_keys=memory.projected_keys,
        )
        context = context.flatten(0, 1)
        gates = token_gates + self.context_gates(context)
        new_state = [self.first_layer.advance(gates, state[0])]
        for layer, previous, mask in zip(self.upper_layers, state[1:], input_masks, strict=True):
            inputs = new_state[-1] if mask is None else new_state[-1] * mask
            new_state.append(layer(inputs, previous))
        return tuple(new_state), context, weights.flatten(0, 1)


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
