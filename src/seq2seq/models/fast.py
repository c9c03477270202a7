"""A faster way to train the models of most runs: GRU encoder, one-layer GRU decoder, additive or dot score.

`teacher_forcing` computes what calling a `Seq2Seq` does, with the same dropout, and calls any other model. Tests
hold it to this definition, values and gradients. It is faster because
- no work goes into padding: tokens are packed, all first tokens before all second ones (`Steps`);
- weights are converted to bfloat16 once, not at every step, and states, softmax and sums stay in float32;
- the backward pass is written by hand: the gradient of a weight is one product over all steps, and no
  activation of size (B, T, S, A) is kept: the hidden layer of the additive score is made again.

In what follows ∂v is the gradient of the loss with respect to v, ``of_v`` in the code. A GRU step is undone by

    kept = z * ∂h'                                     the direct share of ∂h
    ∂x_n = (∂h' - kept) * (1 - n²),  ∂h_n = r * ∂x_n   before the tanh
    ∂x_r = ∂h_r = ∂x_n * h_n * r * (1 - r)             before the sigmoid
    ∂x_z = ∂h_z = ∂h' * (h - n) * z * (1 - z)

with x and h the shares of input and state in the gates, see `seq2seq.models.layers.GRUCell`; the attention by

    ∂w_j = ∂c · m_j (+ what the result's weights get),  ∂a_j = w_j * (∂w_j - sum over i of w_i ∂w_i)
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
"""Queries and keys of an additive score beyond it, far where tanh is 1, count as it: exp(2 x) is within float32."""


def teacher_forcing(
    model: Seq2Seq, source: tuple[Tensor, Tensor, Tensor], target_input: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Return features (B, T, R) and weights (B, T, S) as `Seq2Seq.forward` does; differentiable once.

    Args:
        model: Of any encoder and decoder.
        source: Token ids (B, S), lengths (B,), and True on real tokens (B, S).
        target_input: Ids of the previous target tokens (B, T).
        target_lengths: Real tokens of each target (B,).
    """
    if model.reverse_source or type(model.encoder) is not GRUEncoder:
        memory = model.encode(*source)
    else:
        states, summary = encode(model.encoder, model.source_embedding(source[0]), source[1])
        memory = model.decoder.init_memory(states, source[2], summary)
    forward = partial(decode, model.decoder) if knows(model.decoder) else model.decoder
    return forward(target_input, memory, target_lengths)


def knows(decoder: nn.Module) -> bool:
    """Return whether `decode` computes what a decoder does; by exact types, since a subclass may differ."""
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
    """Packs (B, T, …) into (N, …): the N real tokens, all of the first step before those of the second.

    Within a step the longest sentences come first, so that the sentences of a step are the first ones of the
    step before, and states need not be moved.

    Args:
        lengths: Real tokens of each sentence (B,), at least 1.
        size: T.

    Attributes:
        order: The sentences, the longest first (B,).
        counts: Number of sentences of each step.
        starts: First row of each step, and N.
        last: Row of the last token of each sentence, in the order of the batch (B,).
        mirrored: Rows with the tokens of each sentence in reverse order (N,).
    """

    def __init__(self, lengths: Tensor, size: int) -> None:
        self.shape = len(lengths), size
        ordered, self.order = lengths.sort(descending=True, stable=True)
        is_token = torch.arange(size, device=lengths.device).unsqueeze(1) < ordered
        self.counts = [count for count in is_token.sum(dim=1).tolist() if count]
        self.starts = [0, *accumulate(self.counts)]
        step, rank = is_token.nonzero(as_tuple=True)
        self._ordered_places = rank * size + step
        self._places = self.order[rank] * size + step
        first = torch.tensor(self.starts, device=lengths.device)
        self.last = (first[ordered - 1] + torch.arange(len(lengths), device=lengths.device))[
            self.order.argsort()
        ]
        self.mirrored = first[ordered[rank] - 1 - step] + rank

    def rows(self, step: int) -> slice:
        """Return the rows of a step."""
        return slice(self.starts[step], self.starts[step + 1])

    def pack(self, padded: Tensor) -> Tensor:
        """Return (N, …) of (B, T, …)."""
        return padded.flatten(0, 1).index_select(0, self._places)

    def unpack(self, packed: Tensor, *, ordered: bool = False) -> Tensor:
        """Return (B, T, …) of (N, …), zero on padding; `ordered`: the longest sentences first."""
        padded = packed.new_zeros(self.shape[0] * self.shape[1], *packed.shape[1:])
        places = self._ordered_places if ordered else self._places
        return padded.index_copy(0, places, packed).unflatten(0, self.shape)


class GRULayer:
    """One GRU layer during a pass over packed tokens, its numbers kept for the backward pass.

    Args:
        initial: State before the first step, the longest sentences first (B, H).
        weight: W_h in its last 3 H rows; rows before them make other products of the state (P, H).
        bias: Of the same rows.
        steps: Where the tokens are.
        dtype: Format of the products.

    Attributes:
        weight: In the format of the products.
        states: After each step (N, H).
        operands: Before each step, in the format of the products (N, H).
        products: Of the operands with the weight (N, P).
    """

    def __init__(
        self, initial: Tensor, weight: Tensor, bias: Tensor, steps: Steps, dtype: torch.dtype
    ) -> None:
        self._steps, self._initial = steps, initial.to(torch.promote_types(initial.dtype, torch.float32))
        self.weight, self._bias = weight.to(dtype), bias.to(dtype)
        num_tokens, size = steps.starts[-1], initial.shape[1]
        self.operands = self.weight.new_empty(num_tokens, size)
        self.products = self.weight.new_empty(num_tokens, len(weight))
        self._of_state = self.products[:, len(weight) - 3 * size :]
        self.states = self._initial.new_empty(num_tokens, size)
        self._reset_update = self.states.new_empty(num_tokens, 2 * size)
        self._candidate = torch.empty_like(self.states)

    def before(self, step: int) -> Tensor:
        """Return the states before a step, of its sentences."""
        if not step:
            return self._initial[: self._steps.counts[0]]
        start = self._steps.starts[step - 1]
        return self.states[start : start + self._steps.counts[step]]

    def multiply(self, step: int) -> None:
        """Compute the products of the states before a step."""
        rows = self._steps.rows(step)
        self.operands[rows] = self.before(step)
        torch.addmm(self._bias, self.operands[rows], self.weight.T, out=self.products[rows])

    def advance(self, step: int, inputs: Tensor) -> Tensor:
        """Return the new states, from the input's share of the gates (n, 3 H)."""
        rows, size = self._steps.rows(step), self.states.shape[1]
        of_state, gates, candidate = self._of_state[rows], self._reset_update[rows], self._candidate[rows]
        torch.add(inputs[:, : 2 * size], of_state[:, : 2 * size], out=gates).sigmoid_()
        torch.addcmul(inputs[:, 2 * size :], gates[:, :size], of_state[:, 2 * size :], out=candidate)
        # tanh(x) = 2 sigmoid(2 x) - 1, which is several times as fast on a CPU
        candidate.mul_(2).sigmoid_().mul_(2).sub_(1)
        return torch.lerp(candidate, self.before(step), gates[:, size:], out=self.states[rows])

    def undo(self, step: int, of_new: Tensor, of_inputs: Tensor, of_products: Tensor) -> Tensor:
        """Write a step's rows of ∂x (N, 3 H) and of the last 3 H columns of ∂products, return `kept`."""
        rows, size = self._steps.rows(step), self.states.shape[1]
        of_inputs, of_state = of_inputs[rows], of_products[rows, -3 * size :]
        gates, candidate = self._reset_update[rows], self._candidate[rows]
        kept = of_new * gates[:, size:]
        of_candidate = torch.ops.aten.tanh_backward(of_new - kept, candidate)
        of_inputs[:, 2 * size :] = of_candidate
        torch.mul(of_candidate, gates[:, :size], out=of_state[:, 2 * size :])
        of_gates = torch.empty_like(gates)
        torch.mul(of_candidate, self._of_state[rows, 2 * size :], out=of_gates[:, :size])
        torch.sub(self.before(step), candidate, out=of_gates[:, size:]).mul_(of_new)
        through = of_inputs[:, : 2 * size]
        torch.ops.aten.sigmoid_backward.grad_input(of_gates, gates, grad_input=through)
        of_state[:, : 2 * size] = through
        return kept

    def gradients(self, of_products: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of weight and bias."""
        return of_products.T @ self.operands, of_products.sum(dim=0)


# --- the encoder ---


def encode(encoder: GRUEncoder, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `GRUEncoder.forward` does."""
    steps, outputs, finals = Steps(lengths, embedded.shape[1]), embedded, []
    drops = [encoder.embedding_dropout] + [encoder.dropout] * (len(encoder.layers) - 1)
    for layer, drop in zip(encoder.layers, drops, strict=True):
        packed = steps.pack(drop(outputs, drop.mask_like(outputs[:, :1])))
        directions = []
        for suffix in ("_l0", "_l0_reverse") if layer.bidirectional else ("_l0",):
            w_input, b_input, w_state, b_state = (
                getattr(layer, name + suffix) for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            gates = linear(packed, w_input, b_input)
            if suffix.endswith("reverse"):
                mirrored = _GRU.apply(steps, gates.index_select(0, steps.mirrored), w_state, b_state)
                directions.append(mirrored.index_select(0, steps.mirrored))
                finals.append(mirrored.index_select(0, steps.last))
            else:
                directions.append(_GRU.apply(steps, gates, w_state, b_state))
                finals.append(directions[0].index_select(0, steps.last))
        outputs = steps.unpack(torch.cat(directions, dim=1))
    mask = encoder.output_dropout.mask_like(outputs[:, :1])
    return encoder.output_dropout(outputs, mask), torch.cat(finals, dim=-1)


class _GRU(torch.autograd.Function):
    """The states (N, H) of a GRU layer after each step, from the input's share of the gates (N, 3 H)."""

    @staticmethod
    def forward(ctx: Any, steps: Steps, gates: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        with torch.autocast(gates.device.type, enabled=False):
            initial = torch.zeros(steps.counts[0], weight.shape[1], dtype=weight.dtype, device=weight.device)
            layer = GRULayer(initial, weight, bias, steps, gates.dtype)
            for step in range(len(steps.counts)):
                layer.multiply(step)
                layer.advance(step, gates[steps.rows(step)])
        ctx.steps, ctx.layer = steps, layer
        return layer.states[:]  # a view: an output that ctx itself held would never be freed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor) -> tuple[Tensor | None, ...]:
        steps, layer = ctx.steps, ctx.layer
        of_inputs, of_products = torch.empty_like(layer.products), torch.empty_like(layer.products)
        of_state = of_states.new_zeros(steps.counts[0], of_states.shape[1])
        with torch.autocast(of_states.device.type, enabled=False):
            for step in reversed(range(len(steps.counts))):
                rows, current = steps.rows(step), of_state[: steps.counts[step]]
                current += of_states[rows]
                current.copy_(layer.undo(step, current, of_inputs, of_products))
                current += of_products[rows] @ layer.weight
            return None, of_inputs, *layer.gradients(of_products)


# --- the decoder ---


def decode(
    decoder: BahdanauDecoder, target_input: Tensor, memory: Memory, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what `BahdanauDecoder.forward` does, if `knows` says so."""
    steps, score = Steps(target_lengths, target_input.shape[1]), decoder.attention.score
    mask, of_features = (None if each is None else each.unsqueeze(1) for each in memory.masks)
    embedded = steps.pack(decoder.embedding_dropout(decoder.embedding(target_input), mask))  # (N, E)
    (initial,) = decoder.initial_state(memory)
    by_length = memory.states, memory.keys, memory.source_is_token, initial
    if bool((steps.order.diff() < 0).any()):
        by_length = tuple(each[steps.order] for each in by_length)
    states, keys, is_token, initial = by_length
    query_weight, score_weight, of_tokens = None, None, embedded if decoder.query_with_embedding else None
    if isinstance(score, AdditiveScore):
        query_weight, score_weight = score.query_projection.weight, score.score_weight
        if of_tokens is not None:
            query_weight, of_embedded = query_weight.split([initial.shape[1], embedded.shape[1]], dim=1)
            of_tokens = linear(embedded, of_embedded)
    tops, contexts, weights = _Decoder.apply(
        steps, isinstance(score, ScaledDotScore), is_token, decoder.stack.input_gates(embedded), of_tokens, states, keys,
        decoder.context_gates.weight, query_weight, score_weight, initial,
        *decoder.stack.cells[0].state_gates.parameters(),
    )  # fmt: skip
    readout = decoder.readout
    features = tops if readout is None else readout(tops, readout.context(contexts), embedded)
    return decoder.output_dropout(steps.unpack(features), of_features), steps.unpack(weights)


class _Additive:
    """Scores w_v^T tanh(q + k) of one step after the other; their hidden layer is made again in backward.

    tanh(x) = 2 sigmoid(2 x) - 1, and softmax ignores what is the same for all keys, so the hidden layer is
    g = sigmoid(2 (q + k)) = 1 / (1 + exp(-2 q) exp(-2 k)): the exponentials of the keys are taken once.

        slope_j = ∂a_j * g_j * (1 - g_j),  ∂q = 4 w_v * sum over j of slope_j,  ∂k_j = 4 w_v * slope_j
        ∂w_v = 2 sum over j of ∂a_j g_j

    Args:
        keys: Projected (B, S, A).
        weight: w_v (A,).
    """

    def __init__(self, keys: Tensor, weight: Tensor) -> None:
        self._powers, self._weight = torch.exp(-2 * keys.clamp(-BOUND, BOUND)), weight.to(keys.dtype)
        self._one, self._hidden = keys.new_ones(()), torch.empty_like(keys)
        self._of_keys, self._of_weight = torch.zeros_like(keys), keys.new_zeros(len(keys), 1, keys.shape[2])

    def _hidden_layer(self, query: Tensor) -> Tensor:
        powers = torch.exp(-2 * query.to(self._powers.dtype).clamp(-BOUND, BOUND)).unsqueeze(1)
        hidden = self._hidden[: len(query)]
        return torch.addcmul(self._one, powers, self._powers[: len(query)], out=hidden).reciprocal_()

    def scores(self, query: Tensor) -> Tensor:
        """Return scores (n, S), but for a constant, of the queries of a step (n, A)."""
        return self._hidden_layer(query) @ (2 * self._weight)

    def undo(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """Return the gradient of the queries (n, A) from that of the scores (n, S)."""
        hidden = self._hidden_layer(query)
        self._of_weight[: len(query)].baddbmm_(of_scores.unsqueeze(1), hidden)
        slope = torch.ops.aten.sigmoid_backward(of_scores.unsqueeze(2), hidden)
        self._of_keys[: len(query)] += slope
        return slope.sum(dim=1).mul_(4 * self._weight)

    def gradients(self) -> tuple[Tensor, Tensor]:
        """Return the gradients of keys and w_v, after all steps."""
        return self._of_keys.mul_(4 * self._weight), self._of_weight.sum(dim=(0, 1)).mul_(2)


class _Dot:
    """Scores q^T k (/ sqrt(d), if scaled); with projected keys also those of the bilinear score."""

    def __init__(self, keys: Tensor, *, scaled: bool) -> None:
        self._keys, self._scale = keys, keys.shape[-1] ** -0.5 if scaled else 1.0
        self._of_keys = torch.zeros_like(keys)

    def scores(self, query: Tensor) -> Tensor:
        """Return scores (n, S) of the queries of a step (n, Q)."""
        return torch.bmm((query * self._scale).unsqueeze(1), self._keys[: len(query)].mT).squeeze(1)

    def undo(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """Return the gradient of the queries (n, Q) from that of the scores (n, S)."""
        count = len(query)
        self._of_keys[:count].baddbmm_(of_scores.unsqueeze(2), (query * self._scale).unsqueeze(1))
        return torch.bmm(of_scores.unsqueeze(1), self._keys[:count]).squeeze(1).mul_(self._scale)

    def gradients(self) -> tuple[Tensor, None]:
        """Return the gradient of the keys, after all steps."""
        return self._of_keys, None


class _Decoder(torch.autograd.Function):
    """States (N, H), contexts (N, M) and weights (N, S) of every step of the decoder.

    The query and the state's share of the gates are one product with the state. Arguments:

        steps: Where the target tokens are; memory, keys and mask have the longest targets first.
        scaled: Whether dot products are divided by the root of their size.
        is_token: True on real source tokens (B, S).
        token_gates: W_x e + b_x (N, 3 H).
        token_queries: The tokens' share of the queries (N, A), or e (N, E) without W_q; or None.
        memory, keys: (B, S, M) and, projected, (B, S, …).
        context_weight: W_c (3 H, M).
        query_weight, score_weight: W_q (A, H) and w_v (A,) of an additive score, else None.
        initial: First state (B, H).
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
        of_tokens = None if token_queries is None else token_queries.to(precise)
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
                if not num_queries:
                    states = layer.before(step)
                    return states if of_tokens is None else torch.cat([states, of_tokens[rows]], dim=1)
                of_states = layer.products[rows, :num_queries]
                return of_states if of_tokens is None else of_states + of_tokens[rows]

            for step, count in enumerate(steps.counts):
                rows = steps.rows(step)
                layer.multiply(step)
                scores = attention.scores(query(step)).add_(padding[:count])
                torch.softmax(scores, dim=-1, out=weights[rows])
                of_step = weights[rows].to(dtype).unsqueeze(1)
                torch.bmm(of_step, memory[:count], out=contexts[rows].unsqueeze(1))
                layer.advance(step, torch.addmm(token_gates[rows], contexts[rows], context_weight.T))
        ctx.run = steps, num_queries, of_tokens, memory, context_weight, attention, layer, query
        ctx.results = weights, contexts
        ctx.set_materialize_grads(False)
        return layer.states[:], contexts[:], weights[:]

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_states: Tensor | None, of_contexts: Tensor | None, of_weights: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        steps, num_queries, token_queries, memory, context_weight, attention, layer, query = ctx.run
        all_weights, contexts = ctx.results
        of_products, of_context = torch.empty_like(layer.products), torch.empty_like(contexts)
        of_inputs = layer.products.new_empty(len(contexts), len(context_weight))
        of_state = torch.zeros_like(layer.before(0))
        of_tokens = None if token_queries is None else torch.empty_like(token_queries)
        with torch.autocast(memory.device.type, enabled=False):
            for step in reversed(range(len(steps.counts))):
                rows, count = steps.rows(step), steps.counts[step]
                current, context, weights = of_state[:count], of_context[rows], all_weights[rows]
                if of_states is not None:
                    current += of_states[rows]
                current.copy_(layer.undo(step, current, of_inputs, of_products))
                torch.mm(of_inputs[rows], context_weight, out=context)
                if of_contexts is not None:
                    context += of_contexts[rows]
                through = torch.bmm(context.unsqueeze(1), memory[:count].mT).squeeze(1).to(weights.dtype)
                if of_weights is not None:
                    through += of_weights[rows]
                through -= (through * weights).sum(dim=-1, keepdim=True)
                of_query = attention.undo(query(step), through.mul_(weights))
                if of_tokens is not None:
                    of_tokens[rows] = of_query[:, -of_tokens.shape[1] :]
                if num_queries:
                    of_products[rows, :num_queries] = of_query
                else:
                    current += of_query[:, : current.shape[1]]
                current += of_products[rows] @ layer.weight
            of_keys, of_score_weight = attention.gradients()
            of_weight, of_bias = layer.gradients(of_products)
            unpacked = steps.unpack(all_weights.to(memory.dtype), ordered=True)
            of_memory = unpacked.mT @ steps.unpack(of_context, ordered=True)
            return (
                None, None, None, of_inputs, of_tokens, of_memory, of_keys, of_inputs.T @ contexts,
                of_weight[:num_queries] if num_queries else None, of_score_weight, of_state,
                of_weight[num_queries:], of_bias[num_queries:],
            )  # fmt: skip
