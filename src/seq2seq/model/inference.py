"""The decoder's step for searches: without gradients, and with less work than its definition."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.attention.scores import AdditiveScore
from seq2seq.model.decoder import BahdanauDecoder
from seq2seq.model.gru import advance_state
from seq2seq.model.memory import Memory, State
from seq2seq.model.precision import at_least_float32
from seq2seq.model.readout import StateReadout
from seq2seq.model.unroll.attention import AdditivePass


class InferenceDecoder:
    """A decoder with the memory of some sentences, outside training.

    `step` computes what `BahdanauDecoder.step` computes. Since a search takes many steps with
    several hypotheses (K) of each sentence (B):

    - the context's share of the gates is a mean of projected memory, W_c (sum over j of w_j m_j) =
      sum over j of w_j (W_c m_j), so that W_c is applied once to each source token;
    - the hidden layer of the additive score is made as in the fused pass, see `AdditivePass`;
    - a previous token that several hypotheses share goes through its layers once;
    - a context is made only where the readout asks for it.

    Under autocast the products take its type; state, softmax and weights stay in float32.

    Args:
        decoder: what makes the steps.
        memory: the sentences.
        context_gates: `memory.states` after the decoder's layer of that name (B, S, 3 H); None to
            make them.
    """

    def __init__(
        self, decoder: BahdanauDecoder, memory: Memory, context_gates: Tensor | None = None
    ) -> None:
        if context_gates is None:
            context_gates = at_least_float32(decoder.context_gates(memory.states))
        self._decoder, self._memory, self._context_gates = decoder, memory, context_gates
        self._needs_context = not isinstance(decoder.readout, StateReadout)
        self._additive = None
        # a subclass may compute something else: the types must be the same
        if type(decoder.attention.score) is AdditiveScore:
            self._additive = self._additive_pass(decoder.attention.score, exact=False)
            self._padding = torch.zeros_like(memory.source_is_token, dtype=context_gates.dtype)
            self._padding.masked_fill_(~memory.source_is_token, -torch.inf)

    @property
    def initial_state(self) -> State:
        """The state before the first step, with one hypothesis a sentence."""
        return self._memory.initial_state

    def select(self, rows: Int[Tensor, " M"]) -> "InferenceDecoder":
        """The same with some of the sentences."""
        return InferenceDecoder(self._decoder, self._memory.select(rows), self._context_gates[rows])

    def step(
        self, tokens: Int[Tensor, "B K"], state: State
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One step of all hypotheses, N = B K.

        Returns:
            Features, which the decoder's output layer turns into logits, and what
            `BahdanauDecoder.step` returns besides.
        """
        decoder = self._decoder
        different, places = tokens.flatten().unique(return_inverse=True)
        embedded = decoder.embedding(different)
        gates = at_least_float32(decoder.first_layer.input_gates(embedded))[places]
        weights, contexts = self._attend(state[-1].unflatten(0, tokens.shape), gates)
        layers = zip([decoder.first_layer, *decoder.upper_layers], state, strict=True)
        new_state: list[Tensor] = []
        for layer, previous in layers:
            inputs = layer.input_gates(new_state[-1]) if new_state else gates
            new_state.append(advance_state(inputs, layer.state_gates(previous), previous))
        features = new_state[-1]
        if contexts is not None:
            features = decoder.readout(features, contexts.flatten(0, 1), embedded[places])
        return features, tuple(new_state), weights.flatten(0, 1)

    def _attend(
        self, queries: Float[Tensor, "B K H"], gates: Float[Tensor, "N G"]
    ) -> tuple[Float[Tensor, "B K S"], Float[Tensor, "B K M"] | None]:
        """Weights and, where they are needed, contexts; the context's share joins the gates."""
        weights, contexts = self._weights(queries)
        with torch.autocast(queries.device.type, enabled=False):
            share = gates.unflatten(0, queries.shape[:2])
            share.baddbmm_(weights.to(gates.dtype), self._context_gates)
            if self._needs_context and contexts is None:
                contexts = weights @ self._memory.states.to(weights.dtype)
        return weights, contexts

    def _weights(self, queries: Tensor) -> tuple[Tensor, Tensor | None]:
        """The weights, and the contexts where they come with them."""
        memory, attention = self._memory, self._decoder.attention
        score = attention.score
        if self._additive is None or not isinstance(score, AdditiveScore):
            contexts, weights = attention(
                queries,
                memory.keys,
                memory.states,
                mask=memory.source_is_token.unsqueeze(1),
                projected_keys=memory.projected_keys,
            )
            return weights, contexts
        projected = score.query_projection(queries)
        if self._additive.overflowed(projected):
            self._additive = self._additive_pass(score, exact=True)
        with torch.autocast(queries.device.type, enabled=False):
            scores = [self._additive.scores(query) for query in projected.unbind(dim=1)]
            padded = torch.stack(scores, dim=1) + self._padding.unsqueeze(1)
            return padded.softmax(dim=-1), None

    def _additive_pass(self, score: AdditiveScore, *, exact: bool) -> AdditivePass:
        keys = at_least_float32(self._memory.projected_keys)
        return AdditivePass(keys, score.query_projection.weight, score.score_weight, exact=exact)
