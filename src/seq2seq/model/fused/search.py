"""The decoder's step for searches: without gradients, and, where it can be, with less work.

Since a search takes many steps with several hypotheses (K) of each sentence (B):

- the context's share of the gates is a mean of projected memory, W_c (sum over j of w_j m_j) =
  sum over j of w_j (W_c m_j), so that W_c is applied once to each source token;
- the scores are made as in the fused pass, see `seq2seq.model.fused.attention`;
- a previous token that several hypotheses share goes through its layers once;
- a context is made only where the readout asks for it.

Under autocast the products take its type; state, softmax and weights stay in float32.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import linear

from seq2seq.model.contracts import Decoder
from seq2seq.model.decoder import BahdanauDecoder
from seq2seq.model.fused.attention import AttentionPass, FusedScore
from seq2seq.model.fused.layer import advance_state
from seq2seq.model.layers import StateReadout
from seq2seq.model.memory import Memory, State
from seq2seq.model.precision import at_least_float32


@runtime_checkable
class SearchDecoder(Protocol):
    """A decoder with the memory of some sentences, outside training."""

    def initial_state(self) -> State:
        """The state before the first step, with one hypothesis a sentence."""

    def select(self, rows: Int[Tensor, " R"]) -> "SearchDecoder":
        """The same with some of the sentences."""

    def step(
        self, tokens: Int[Tensor, "B K"], state: State
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"] | None]:
        """What the decoder's own step returns, of all hypotheses, N = B K."""


@dataclass(frozen=True, slots=True)
class PlainSearch:
    """Any decoder, by its own steps."""

    decoder: Decoder
    memory: Memory

    def initial_state(self) -> State:
        """See `SearchDecoder`, as for the others."""
        return self.decoder.initial_state(self.memory)

    def select(self, rows: Int[Tensor, " R"]) -> "PlainSearch":
        """Some of the sentences."""
        return PlainSearch(self.decoder, self.memory.select(rows))

    def step(
        self, tokens: Int[Tensor, "B K"], state: State
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"] | None]:
        """A step."""
        return self.decoder.step(self.decoder.embedding(tokens.flatten()), state, self.memory)


class FusedSearch:
    """A Bahdanau decoder, with less work than its own steps.

    Args:
        decoder: what makes the steps.
        score: that of its attention.
        memory: the sentences.
        context_gates: `memory.states` after the decoder's layer of that name (B, S, 3 H); None to
            make them.
    """

    def __init__(
        self,
        decoder: BahdanauDecoder,
        score: FusedScore,
        memory: Memory,
        context_gates: Tensor | None = None,
    ) -> None:
        if context_gates is None:
            context_gates = at_least_float32(decoder.context_gates(memory.states))
        self._decoder, self._memory, self._context_gates = decoder, memory, context_gates
        self._needs_context = not isinstance(decoder.readout, StateReadout)
        self._score, self._attention = score, self._begin(score, exact=False)
        self._padding = torch.zeros_like(memory.source_is_token, dtype=context_gates.dtype)
        self._padding.masked_fill_(~memory.source_is_token, -torch.inf)

    def _begin(self, score: FusedScore, *, exact: bool) -> AttentionPass:
        keys = at_least_float32(self._memory.projected_keys)
        return score.begin(keys, *score.parameters[1:], exact=exact)

    def initial_state(self) -> State:
        """See `SearchDecoder`, as for the others."""
        return self._decoder.initial_state(self._memory)

    def select(self, rows: Int[Tensor, " R"]) -> "FusedSearch":
        """Some of the sentences."""
        memory, gates = self._memory.select(rows), self._context_gates[rows]
        return FusedSearch(self._decoder, self._score, memory, gates)

    def step(
        self, tokens: Int[Tensor, "B K"], state: State
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """A step."""
        decoder = self._decoder
        different, places = tokens.flatten().unique(return_inverse=True)
        embedded = decoder.embedding(different)
        gates = at_least_float32(decoder.first_layer.inputs(embedded))[places]
        query = state[-1]
        if decoder.query_has_token:
            query = torch.cat([query, embedded[places]], dim=-1)
        weights, contexts = self._attend(query.unflatten(0, tokens.shape), gates)
        new_state: list[Tensor] = []
        for layer, previous in zip(decoder.layers, state, strict=True):
            inputs = layer.inputs(new_state[-1]) if new_state else gates
            new_state.append(advance_state(inputs, layer.state_gates(previous), previous))
        features = new_state[-1]
        if contexts is not None:
            features = decoder.readout(features, contexts.flatten(0, 1), embedded[places])
        return features, tuple(new_state), weights.flatten(0, 1)

    def _attend(
        self, queries: Float[Tensor, "B K Q"], gates: Float[Tensor, "N G"]
    ) -> tuple[Float[Tensor, "B K S"], Float[Tensor, "B K M"] | None]:
        """Weights and, where they are needed, contexts; the context's share joins the gates."""
        weights = self._weights(queries)
        with torch.autocast(queries.device.type, enabled=False):
            gates.unflatten(0, queries.shape[:2]).baddbmm_(weights, self._context_gates)
            if not self._needs_context:
                return weights, None
            return weights, weights @ self._memory.states.to(weights.dtype)

    def _weights(self, queries: Float[Tensor, "B K Q"]) -> Float[Tensor, "B K S"]:
        parameters = self._score.parameters
        projected = linear(queries, parameters[0]) if parameters else queries
        if self._attention.overflowed(projected):
            self._attention = self._begin(self._score, exact=True)
        with torch.autocast(queries.device.type, enabled=False):
            scores = self._attention.many_scores(projected)
            return (scores + self._padding.unsqueeze(1)).softmax(dim=-1)
