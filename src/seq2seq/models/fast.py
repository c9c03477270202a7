"""Faster training of common models: GRU encoder, GRU decoder with one layer, and additive, dot or bilinear score.

`teacher_forcing` computes the same as `Seq2Seq.forward`, with the same dropout. Tests compare values and gradients.
Other models are computed by their own `forward`. It is faster because
- padding is not computed: tokens are packed, those of the first step before those of the second (`Steps`);
- weights are converted to bfloat16 once, not at each step; states, softmax and sums are in float32;
- the backward pass is explicit: the gradient of a weight is one product over all steps, and no activation of size
  (B, T, S, A) is stored, because the hidden layer of the additive score is recomputed.

In the following, ∂v is the gradient of the loss with respect to v, ``grad_v`` in the code. For a GRU step,

    direct = z * ∂h'                                     the part of ∂h that does not pass through the gates
    ∂x_n = (∂h' - direct) * (1 - n²),  ∂h_n = r * ∂x_n   before the tanh
    ∂x_r = ∂h_r = ∂x_n * h_n * r * (1 - r)               before the sigmoid
    ∂x_z = ∂h_z = ∂h' * (h - n) * z * (1 - z)

with x and h the parts of input and state in the gates, see `seq2seq.models.layers.GRUCell`. For the attention,

    ∂w_j = ∂c · m_j (+ the gradient of the returned weights),  ∂a_j = w_j * (∂w_j - sum over i of w_i ∂w_i)
"""

from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from seq2seq.attention.attention import AdditiveScore, Attention, Memory
from seq2seq.attention.scores import BilinearScore, DotScore, ScaledDotScore
from seq2seq.models.bahdanau import BahdanauDecoder
from seq2seq.models.layers import GRUCell
from seq2seq.models.seq2seq import GRUEncoder, Seq2Seq

BOUND = 40.0
"""Queries and keys of an additive score are clamped to ± this, where tanh is 1, so that exp(2 x) is finite in float32."""


def teacher_forcing(
    model: Seq2Seq, source: tuple[Tensor, Tensor, Tensor], target_input: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Return features (B, T, R) and weights (B, T, S) like `Seq2Seq.forward`; differentiable once.

    Args:
        model: A model with any encoder and decoder.
        source: Token ids (B, S), lengths (B,), and mask (B, S), True on real tokens.
        target_input: Ids of the previous target tokens (B, T).
        target_lengths: Number of real tokens of each target (B,).
    """
    if model.reverse_source or type(model.encoder) is not GRUEncoder:
        memory = model.encode(*source)
    else:
        states, summary = encode(model.encoder, model.source_embedding(source[0]), source[1])
        memory = model.decoder.init_memory(states, source[2], summary)
    forward = partial(decode, model.decoder) if is_supported(model.decoder) else model.decoder
    return forward(target_input, memory, target_lengths)


def is_supported(decoder: nn.Module) -> bool:
    """Return whether `decode` supports a decoder; subclasses are not supported, since they may differ."""
    if type(decoder) is not BahdanauDecoder:
        return False
    attention = decoder.attention
    return (
        [type(cell) for cell in decoder.stack.cells] == [GRUCell]
        and type(attention) is Attention
        and type(attention.score) in (AdditiveScore, BilinearScore, DotScore, ScaledDotScore)
        and not attention.keeps_history
        and attention.normalizer == "softmax"
        and not attention.dropout.p
    )


class Steps:
    """Packing of (B, T, …) to (N, …): the N real tokens, those of the first step before those of the second.

    Within a step, the sentences are sorted by length, longest first. Therefore the sentences of a step are the first
    sentences of the previous step, and states are not moved.

    Args:
        lengths: Number of real tokens of each sentence (B,), at least 1.
        size: Number T of steps.

    Attributes:
        order: Indices of the sentences, longest first (B,).
        counts: Number of sentences of each step.
        starts: First row of each step, and N.
        last: Row of the last token of each sentence, in the order of the batch (B,).
        reverse: Rows of the tokens with each sentence reversed (N,).
    """

    def __init__(self, lengths: Tensor, size: int) -> None:
        self.shape = len(lengths), size
        ordered, self.order = lengths.sort(descending=True, stable=True)
        is_token = torch.arange(size, device=lengths.device).unsqueeze(1) < ordered
        self.counts = [count for count in is_token.sum(dim=1).tolist() if count]
        self.starts = [0, *accumulate(self.counts)]
        step, rank = is_token.nonzero(as_tuple=True)
        self._sorted_positions = rank * size + step
        self._positions = self.order[rank] * size + step
        first = torch.tensor(self.starts, device=lengths.device)
        self.last = (first[ordered - 1] + torch.arange(len(lengths), device=lengths.device))[
            self.order.argsort()
        ]
        self.reverse = first[ordered[rank] - 1 - step] + rank

    def rows(self, step: int) -> slice:
        """Return the rows of a step as a slice."""
        return slice(self.starts[step], self.starts[step + 1])

    def pack(self, padded: Tensor) -> Tensor:
        """Pack a tensor (B, T, …) to (N, …)."""
        return padded.flatten(0, 1).index_select(0, self._positions)

    def unpack(self, packed: Tensor, *, ordered: bool = False) -> Tensor:
        """Unpack a tensor (N, …) to (B, T, …), zero on padding; `ordered`: longest sentences first."""
        padded = packed.new_zeros(self.shape[0] * self.shape[1], *packed.shape[1:])
        positions = self._sorted_positions if ordered else self._positions
        return padded.index_copy(0, positions, packed).unflatten(0, self.shape)


class GRULayer:
    """A GRU layer over packed tokens, with the activations that the backward pass needs.

    Args:
        initial: Initial states, longest sentences first (B, H).
        weight: Weight (P, H) whose last 3 H rows are W_h; other rows compute other products of the state.
        bias: Bias (P,).
        steps: Packing of the tokens.
        dtype: Data type of the products.

    Attributes:
        weight: The weight in the data type of the products.
        states: States after each step (N, H).
        operands: States before each step, in the data type of the products (N, H).
        products: Products of operands and weight, plus bias (N, P).
    """

    def __init__(
        self, initial: Tensor, weight: Tensor, bias: Tensor, steps: Steps, dtype: torch.dtype
    ) -> None:
        self._steps, self._initial = steps, initial.to(torch.promote_types(initial.dtype, torch.float32))
        self.weight, self._bias = weight.to(dtype), bias.to(dtype)
        num_tokens, size = steps.starts[-1], initial.shape[1]
        self.operands = self.weight.new_empty(num_tokens, size)
        self.products = self.weight.new_empty(num_tokens, len(weight))
        self._state_gates = self.products[:, len(weight) - 3 * size :]
        self.states = self._initial.new_empty(num_tokens, size)
        self._reset_update = self.states.new_empty(num_tokens, 2 * size)
        self._candidate = torch.empty_like(self.states)

    def before(self, step: int) -> Tensor:
        """Return the states before a step (n, H)."""
        if not step:
            return self._initial[: self._steps.counts[0]]
        start = self._steps.starts[step - 1]
        return self.states[start : start + self._steps.counts[step]]

    def multiply(self, step: int) -> None:
        """Compute the products of the states before a step."""
        rows = self._steps.rows(step)
        self.operands[rows] = self.before(step)
        torch.mm(self.operands[rows], self.weight.T, out=self.products[rows]).add_(self._bias)

    def advance(self, step: int, inputs: Tensor) -> Tensor:
        """Compute a step, and return the new states (n, H), from the input's part of the gates (n, 3 H)."""
        rows, size = self._steps.rows(step), self.states.shape[1]
        state_gates, candidate = self._state_gates[rows], self._candidate[rows]
        gates = self._reset_update[rows]
        torch.add(inputs[:, : 2 * size], state_gates[:, : 2 * size], out=gates).sigmoid_()
        torch.addcmul(inputs[:, 2 * size :], gates[:, :size], state_gates[:, 2 * size :], out=candidate)
        # tanh(x) = 2 sigmoid(2 x) - 1 is several times as fast on a CPU
        candidate.mul_(2).sigmoid_().mul_(2).sub_(1)
        return torch.lerp(candidate, self.before(step), gates[:, size:], out=self.states[rows])

    def backward(self, step: int, grad_new: Tensor, grad_inputs: Tensor, grad_products: Tensor) -> Tensor:
        """Write a step's rows of ∂x (N, 3 H) and ∂products, return `direct`; `grad_new`: of the states (n, H)."""
        rows, size = self._steps.rows(step), self.states.shape[1]
        grad_inputs, grad_state_gates = grad_inputs[rows], grad_products[rows, -3 * size :]
        gates, candidate = self._reset_update[rows], self._candidate[rows]
        direct = grad_new * gates[:, size:]
        grad_candidate = torch.ops.aten.tanh_backward(grad_new - direct, candidate)
        grad_inputs[:, 2 * size :] = grad_candidate
        torch.mul(grad_candidate, gates[:, :size], out=grad_state_gates[:, 2 * size :])
        grad_gates = torch.empty_like(gates)
        torch.mul(grad_candidate, self._state_gates[rows, 2 * size :], out=grad_gates[:, :size])
        torch.sub(self.before(step), candidate, out=grad_gates[:, size:]).mul_(grad_new)
        grad_reset_update = grad_inputs[:, : 2 * size]
        torch.ops.aten.sigmoid_backward.grad_input(grad_gates, gates, grad_input=grad_reset_update)
        grad_state_gates[:, : 2 * size] = grad_reset_update
        return direct

    def gradients(self, grad_products: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of weight and bias."""
        return grad_products.T @ self.operands, grad_products.sum(dim=0)


def encode(encoder: GRUEncoder, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return states and summaries like `GRUEncoder.forward`."""
    steps, outputs, final_states = Steps(lengths, embedded.shape[1]), embedded, []
    dropouts = [encoder.embedding_dropout] + [encoder.dropout] * (len(encoder.layers) - 1)
    for layer, dropout in zip(encoder.layers, dropouts, strict=True):
        packed = steps.pack(dropout(outputs, dropout.mask_like(outputs[:, :1])))
        directions = []
        for suffix in ("_l0", "_l0_reverse") if layer.bidirectional else ("_l0",):
            w_input, b_input, w_state, b_state = (
                getattr(layer, name + suffix) for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            gates = linear(packed, w_input, b_input)
            if suffix.endswith("reverse"):
                states = _GRU.apply(steps, gates.index_select(0, steps.reverse), w_state, b_state)
                directions.append(states.index_select(0, steps.reverse))
                final_states.append(states.index_select(0, steps.last))
            else:
                directions.append(_GRU.apply(steps, gates, w_state, b_state))
                final_states.append(directions[0].index_select(0, steps.last))
        outputs = steps.unpack(torch.cat(directions, dim=1))
    mask = encoder.output_dropout.mask_like(outputs[:, :1])
    return encoder.output_dropout(outputs, mask), torch.cat(final_states, dim=-1)


class _GRU(torch.autograd.Function):
    """The states (N, H) of a GRU layer after each step, from the input's part of the gates (N, 3 H)."""

    @staticmethod
    def forward(ctx: Any, steps: Steps, gates: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        with torch.autocast(gates.device.type, enabled=False):
            initial = torch.zeros(steps.counts[0], weight.shape[1], dtype=weight.dtype, device=weight.device)
            layer = GRULayer(initial, weight, bias, steps, gates.dtype)
            for step in range(len(steps.counts)):
                layer.multiply(step)
                layer.advance(step, gates[steps.rows(step)])
        ctx.steps, ctx.layer = steps, layer
        return layer.states[:]  # a view: an output to which ctx itself refers is never freed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        steps, layer = ctx.steps, ctx.layer
        grad_inputs, grad_products = torch.empty_like(layer.products), torch.empty_like(layer.products)
        grad_state = grad_states.new_zeros(steps.counts[0], grad_states.shape[1])
        with torch.autocast(grad_states.device.type, enabled=False):
            for step in reversed(range(len(steps.counts))):
                rows, grad_current = steps.rows(step), grad_state[: steps.counts[step]]
                grad_current += grad_states[rows]
                grad_current.copy_(layer.backward(step, grad_current, grad_inputs, grad_products))
                grad_current += grad_products[rows] @ layer.weight
            return None, grad_inputs, *layer.gradients(grad_products)


def decode(
    decoder: BahdanauDecoder, target_input: Tensor, memory: Memory, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return features and weights like `BahdanauDecoder.forward`, for decoders with `is_supported`."""
    steps, score = Steps(target_lengths, target_input.shape[1]), decoder.attention.score
    embedding_mask, output_mask = (None if mask is None else mask.unsqueeze(1) for mask in memory.masks)
    embedded = decoder.embedding_dropout(decoder.embedding(target_input), embedding_mask)
    embedded = steps.pack(embedded)  # (N, E)
    (initial,) = decoder.initial_state(memory)
    tensors = memory.states, memory.keys, memory.source_is_token, initial
    if bool((steps.order.diff() < 0).any()):
        tensors = tuple(tensor[steps.order] for tensor in tensors)
    states, keys, is_token, initial = tensors
    query_weight, score_weight, token_queries = None, None, embedded if decoder.query_with_embedding else None
    if isinstance(score, AdditiveScore):
        query_weight, score_weight = score.query_projection.weight, score.score_weight
        if token_queries is not None:
            query_weight, token_weight = query_weight.split([initial.shape[1], embedded.shape[1]], dim=1)
            token_queries = linear(embedded, token_weight)
    outputs, contexts, weights = _Decoder.apply(
        steps, isinstance(score, ScaledDotScore), is_token, decoder.stack.input_gates(embedded), token_queries, states, keys,
        decoder.context_gates.weight, query_weight, score_weight, initial,
        *decoder.stack.cells[0].state_gates.parameters(),
    )  # fmt: skip
    readout = decoder.readout
    features = outputs if readout is None else readout(outputs, readout.context(contexts), embedded)
    return decoder.output_dropout(steps.unpack(features), output_mask), steps.unpack(weights)


class _Additive:
    """Scores w_v^T tanh(q + k), one step at a time; the backward pass recomputes the hidden layer.

    tanh(x) = 2 sigmoid(2 x) - 1, and a constant added to all scores does not change the softmax. Therefore the hidden
    layer is g = sigmoid(2 (q + k)) = 1 / (1 + exp(-2 q) exp(-2 k)), and exp(-2 k) is computed once for all steps.

        slope_j = ∂a_j * g_j * (1 - g_j),  ∂q = 4 w_v * sum over j of slope_j,  ∂k_j = 4 w_v * slope_j
        ∂w_v = 2 sum over j of ∂a_j g_j

    Args:
        keys: Projected keys (B, S, A).
        weight: Weight w_v (A,).
    """

    def __init__(self, keys: Tensor, weight: Tensor) -> None:
        self._powers, self._weight = torch.exp(-2 * keys.clamp(-BOUND, BOUND)), weight.to(keys.dtype)
        self._one, self._hidden = keys.new_ones(()), torch.empty_like(keys)
        self._grad_keys = torch.zeros_like(keys)
        self._grad_weight = keys.new_zeros(len(keys), 1, keys.shape[2])

    def _hidden_layer(self, query: Tensor) -> Tensor:
        powers = torch.exp(-2 * query.to(self._powers.dtype).clamp(-BOUND, BOUND)).unsqueeze(1)
        hidden = self._hidden[: len(query)]
        return torch.addcmul(self._one, powers, self._powers[: len(query)], out=hidden).reciprocal_()

    def scores(self, query: Tensor) -> Tensor:
        """Return the scores (n, S), up to a constant, of the queries of a step (n, A)."""
        return self._hidden_layer(query) @ (2 * self._weight)

    def backward(self, query: Tensor, grad_scores: Tensor) -> Tensor:
        """Return the gradient of the queries (n, A) from the gradient of the scores (n, S)."""
        hidden = self._hidden_layer(query)
        self._grad_weight[: len(query)].baddbmm_(grad_scores.unsqueeze(1), hidden)
        slope = torch.ops.aten.sigmoid_backward(grad_scores.unsqueeze(2), hidden)
        self._grad_keys[: len(query)] += slope
        return slope.sum(dim=1).mul_(4 * self._weight)

    def gradients(self) -> tuple[Tensor, Tensor]:
        """Return the gradients of keys and w_v, after all steps."""
        return self._grad_keys.mul_(4 * self._weight), self._grad_weight.sum(dim=(0, 1)).mul_(2)


class _Dot:
    """Scores q^T k, or q^T k / sqrt(d) if `scaled`; with projected keys, also the bilinear score."""

    def __init__(self, keys: Tensor, *, scaled: bool) -> None:
        self._keys, self._scale = keys, keys.shape[-1] ** -0.5 if scaled else 1.0
        self._grad_keys = torch.zeros_like(keys)

    def scores(self, query: Tensor) -> Tensor:
        """Return the scores (n, S) of the queries of a step (n, Q)."""
        return torch.bmm((query * self._scale).unsqueeze(1), self._keys[: len(query)].mT).squeeze(1)

    def backward(self, query: Tensor, grad_scores: Tensor) -> Tensor:
        """Return the gradient of the queries (n, Q) from the gradient of the scores (n, S)."""
        count = len(query)
        self._grad_keys[:count].baddbmm_(grad_scores.unsqueeze(2), (query * self._scale).unsqueeze(1))
        return torch.bmm(grad_scores.unsqueeze(1), self._keys[:count]).squeeze(1).mul_(self._scale)

    def gradients(self) -> tuple[Tensor, None]:
        """Return the gradient of the keys, after all steps."""
        return self._grad_keys, None


class _Decoder(torch.autograd.Function):
    """States (N, H), contexts (N, M) and weights (N, S) of all steps of the decoder.

    The query and the state's part of the gates are computed by one product with the state. Arguments:

        steps: Packing of the target tokens; memory, keys, mask and initial state have the longest targets first.
        scaled: Whether dot products are divided by the square root of the size.
        is_token: True on real source tokens (B, S).
        token_gates: W_x e + b_x (N, 3 H).
        token_queries: The tokens' part of the queries: W_q e (N, A), or e (N, E) for a dot score, or None.
        memory, keys: Encoder states (B, S, M) and projected keys (B, S, …).
        context_weight: W_c (3 H, M).
        query_weight, score_weight: W_q (A, H) and w_v (A,) of an additive score, else None.
        initial: Initial state (B, H).
        state_weight, state_bias: W_h (3 H, H) and b_h (3 H,).
    """

    @staticmethod
    def forward(
        ctx: Any, steps: Steps, scaled: bool, is_token: Tensor, token_gates: Tensor,
        token_queries: Tensor | None, memory: Tensor, keys: Tensor, context_weight: Tensor,
        query_weight: Tensor | None, score_weight: Tensor | None, initial: Tensor, state_weight: Tensor,
        state_bias: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        dtype, precise = token_gates.dtype, torch.promote_types(memory.dtype, torch.float32)
        num_queries = 0 if query_weight is None else len(query_weight)
        if token_queries is not None:
            token_queries = token_queries.to(precise)
        with torch.autocast(memory.device.type, enabled=False):
            memory, keys, context_weight = memory.to(dtype), keys.to(precise), context_weight.to(dtype)
            attention = _Dot(keys, scaled=scaled) if score_weight is None else _Additive(keys, score_weight)
            if query_weight is not None:
                state_weight = torch.cat([query_weight, state_weight])
                state_bias = torch.cat([state_bias.new_zeros(num_queries), state_bias])
            layer = GRULayer(initial, state_weight, state_bias, steps, dtype)
            padding = torch.zeros_like(is_token, dtype=precise).masked_fill_(~is_token, -torch.inf)
            weights = keys.new_empty(steps.starts[-1], memory.shape[1])
            contexts = memory.new_empty(steps.starts[-1], memory.shape[2])

            def query(step: int) -> Tensor:
                rows = steps.rows(step)
                state_queries = layer.products[rows, :num_queries] if num_queries else layer.before(step)
                if token_queries is None:
                    return state_queries
                of_step = token_queries[rows]
                return state_queries + of_step if num_queries else torch.cat([state_queries, of_step], dim=1)

            for step, count in enumerate(steps.counts):
                rows = steps.rows(step)
                layer.multiply(step)
                scores = attention.scores(query(step)).add_(padding[:count])
                torch.softmax(scores, dim=-1, out=weights[rows])
                step_weights = weights[rows].to(dtype).unsqueeze(1)
                torch.bmm(step_weights, memory[:count], out=contexts[rows].unsqueeze(1))
                layer.advance(step, torch.addmm(token_gates[rows], contexts[rows], context_weight.T))
        ctx.run = steps, num_queries, token_queries, memory, context_weight, attention, layer, query
        ctx.results = weights, contexts
        ctx.set_materialize_grads(False)
        return layer.states[:], contexts[:], weights[:]

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_states: Tensor | None, grad_contexts: Tensor | None, grad_weights: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        steps, num_queries, token_queries, memory, context_weight, attention, layer, query = ctx.run
        all_weights, contexts = ctx.results
        grad_products, grad_context = torch.empty_like(layer.products), torch.empty_like(contexts)
        grad_inputs = layer.products.new_empty(len(contexts), len(context_weight))
        grad_state = torch.zeros_like(layer.before(0))
        grad_tokens = None if token_queries is None else torch.empty_like(token_queries)
        with torch.autocast(memory.device.type, enabled=False):
            for step in reversed(range(len(steps.counts))):
                rows, count = steps.rows(step), steps.counts[step]
                grad_current, grad_step, weights = grad_state[:count], grad_context[rows], all_weights[rows]
                if grad_states is not None:
                    grad_current += grad_states[rows]
                grad_current.copy_(layer.backward(step, grad_current, grad_inputs, grad_products))
                torch.mm(grad_inputs[rows], context_weight, out=grad_step)
                if grad_contexts is not None:
                    grad_step += grad_contexts[rows]
                grad_scores = torch.bmm(grad_step.unsqueeze(1), memory[:count].mT).squeeze(1)
                grad_scores = grad_scores.to(weights.dtype)
                if grad_weights is not None:
                    grad_scores += grad_weights[rows]
                grad_scores -= (grad_scores * weights).sum(dim=-1, keepdim=True)
                grad_query = attention.backward(query(step), grad_scores.mul_(weights))
                if grad_tokens is not None:
                    grad_tokens[rows] = grad_query[:, -grad_tokens.shape[1] :]
                if num_queries:
                    grad_products[rows, :num_queries] = grad_query
                else:
                    grad_current += grad_query[:, : grad_current.shape[1]]
                grad_current += grad_products[rows] @ layer.weight
            grad_keys, grad_score_weight = attention.gradients()
            grad_weight, grad_bias = layer.gradients(grad_products)
            unpacked = steps.unpack(all_weights.to(memory.dtype), ordered=True)
            grad_memory = unpacked.mT @ steps.unpack(grad_context, ordered=True)
            return (
                None, None, None, grad_inputs, grad_tokens, grad_memory, grad_keys, grad_inputs.T @ contexts,
                grad_weight[:num_queries] if num_queries else None, grad_score_weight, grad_state,
                grad_weight[num_queries:], grad_bias[num_queries:],
            )  # fmt: skip
