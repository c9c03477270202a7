"""A faster way to train the models that most runs use: GRU encoder, Bahdanau decoder, additive or dot score.

`teacher_forcing` computes what calling a `Seq2Seq` does, with the same random numbers of dropout outside of the
loops, and falls back on it for every other model. Tests hold it to the definition, values and gradients. It is
faster because

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

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from seq2seq.attention.attention import Attention, Memory
from seq2seq.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from seq2seq.models.bahdanau import BahdanauDecoder
from seq2seq.models.encoders import GRUEncoder
from seq2seq.models.layers import GRUCell
from seq2seq.models.seq2seq import Seq2Seq

ROWS = 16
"""Products in bfloat16 have a multiple of so many rows: oneDNN keeps a program for each number of rows."""

SAFE_EXPONENT = 40.0
"""Queries and keys up to this have exp(2 x) and its inverse well within float32."""


def teacher_forcing(
    model: Seq2Seq,
    source: Tensor,
    source_lengths: Tensor,
    source_is_token: Tensor,
    target_input: Tensor,
    target_lengths: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """Return features (B, T, R) and weights (B, T, S) as `Seq2Seq.forward` does; differentiable once."""
    if type(model) is not Seq2Seq or model.reverse_source or type(model.encoder) is not GRUEncoder:
        memory = model.encode(source, source_lengths, source_is_token)
    else:
        states, summary = encode(model.encoder, model.source_embedding(source), source_lengths)
        memory = model.decoder.remember(states, source_is_token, summary)
    if not knows(model.decoder):
        return model.decoder(target_input, memory, target_lengths)
    return decode(model.decoder, target_input, memory, target_lengths)


def knows(decoder: nn.Module) -> bool:
    """Return whether `decode` computes what the decoder does; exact types, since a subclass may differ."""
    if type(decoder) is not BahdanauDecoder or any(type(cell) is not GRUCell for cell in decoder.stack.cells):
        return False
    attention = decoder.attention
    return (
        type(attention) is Attention
        and type(attention.score) in (AdditiveScore, BilinearScore, DotScore, ScaledDotScore)
        and not attention.keeps_past
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
        self._last = first[ordered - 1].add_(torch.arange(len(lengths), device=lengths.device))
        self._mirrored = first[ordered[rank] - 1 - step] + rank

    def rows(self, step: int, multiple: int = 1) -> slice:
        """Return the rows of a step, and of those behind as many as make their number a multiple."""
        start, end = self.starts[step], self.starts[step + 1]
        return slice(start, min(end + -(end - start) % multiple, self.starts[-1]))

    def pack(self, padded: Tensor) -> Tensor:
        """Return (N, …) of (B, T, …)."""
        return padded.flatten(0, 1).index_select(0, self._places)

    def unpack(self, packed: Tensor, *, ordered: bool = False) -> Tensor:
        """Return (B, T, …) of (N, …), zero on padding; `ordered`: the longest sentences first."""
        padded = packed.new_zeros(self.shape[0] * self.shape[1], *packed.shape[1:])
        places = self._ordered_places if ordered else self._places
        return padded.index_copy(0, places, packed).unflatten(0, self.shape)

    def reverse(self, packed: Tensor) -> Tensor:
        """Return the tokens of each sentence in reverse order."""
        return packed.index_select(0, self._mirrored)

    def last(self, packed: Tensor) -> Tensor:
        """Return the last token of each sentence, in the order of the batch (B, …)."""
        return packed.index_select(0, self._last[self.order.argsort()])


class GRULayer:
    """One GRU layer during a pass over packed tokens, its numbers kept for the backward pass.

    Args:
        initial: State before the first step, the longest sentences first (B, H).
        weight: W_h in its last 3 H rows; rows before them make other products of the state (P, H).
        bias: Of the same rows.
        steps: Where the tokens are.
        dtype: Format of the products.

    Attributes:
        states: After each step (N, H).
        operands: Before each step, in the format of the products (N, H).
        products: Of the operands with the weight (N, P).
    """

    def __init__(
        self, initial: Tensor, weight: Tensor, bias: Tensor, steps: Steps, dtype: torch.dtype
    ) -> None:
        self._steps, self._multiple = steps, ROWS if dtype.itemsize < 4 else 1
        self._initial = initial.to(torch.promote_types(initial.dtype, torch.float32))
        self._weight, self._bias = weight.to(dtype), bias.to(dtype)
        num_tokens, size = steps.starts[-1], initial.shape[1]
        self.operands = self._weight.new_empty(num_tokens, size)
        self.products = self._weight.new_empty(num_tokens, len(weight))
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
        self.operands[self._steps.rows(step)] = self.before(step)
        rows = self._steps.rows(step, self._multiple)  # the last ones are written again later
        torch.addmm(self._bias, self.operands[rows], self._weight.T, out=self.products[rows])

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

    def back(self, step: int, of_products: Tensor) -> Tensor:
        """Return the gradient of the states before a step that comes through their products."""
        rows = self._steps.rows(step, self._multiple)
        return (of_products[rows] @ self._weight)[: self._steps.counts[step]]

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
        for suffix in ("", "_reverse") if layer.bidirectional else ("",):
            weights = (
                getattr(layer, f"{name}_l0{suffix}")
                for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            weight_ih, bias_ih, weight_hh, bias_hh = weights
            gates = linear(packed, weight_ih, bias_ih)
            states = _GRU.apply(steps, steps.reverse(gates) if suffix else gates, weight_hh, bias_hh)
            finals.append(steps.last(states))
            directions.append(steps.reverse(states) if suffix else states)
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
                current = of_state[: steps.counts[step]]
                current += of_states[steps.rows(step)]
                kept = layer.undo(step, current, of_inputs, of_products)
                torch.add(kept, layer.back(step, of_products), out=current)
            return None, of_inputs, *layer.gradients(of_products)


# --- the decoder ---


def decode(
    decoder: BahdanauDecoder, target_input: Tensor, memory: Memory, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what `BahdanauDecoder.forward` does, if `knows` says so."""
    steps, score = Steps(target_lengths, target_input.shape[1]), decoder.attention.score
    mask, *between, of_features = (None if each is None else each.unsqueeze(1) for each in memory.masks)
    embedded = steps.pack(decoder.embedding_dropout(decoder.embedding(target_input), mask))  # (N, E)
    initial = decoder.initial_state(memory)
    states, keys, is_token = memory.states, memory.keys, memory.source_is_token
    if bool((steps.order[1:] < steps.order[:-1]).any()):
        states, keys, is_token = states[steps.order], keys[steps.order], is_token[steps.order]
        initial = tuple(each[steps.order] for each in initial)
    parameters, of_tokens, scale = (), None, 1.0
    if isinstance(score, AdditiveScore):
        query_weight = score.query_projection.weight
        if decoder.query_with_embedding:
            of_states, of_embedded = query_weight.split([initial[-1].shape[1], embedded.shape[1]], dim=1)
            query_weight, of_tokens = of_states, linear(embedded, of_embedded)
        parameters = query_weight, score.score_weight
    else:
        of_tokens = embedded if decoder.query_with_embedding else None
        scale = keys.shape[-1] ** -0.5 if isinstance(score, ScaledDotScore) else 1.0
    cells, drops = decoder.stack.cells, []
    for each in between:  # dropout of what a cell reads of the one below
        ones = states.new_ones(steps.starts[-1], cells[0].hidden_size)
        drops.append(
            decoder.stack.dropout(ones) if each is None else steps.pack(each.expand(-1, steps.shape[1], -1))
        )
    layers = [(start, cell.state_gates.weight, cell.state_gates.bias)
              for start, cell in zip(initial, cells, strict=True)]  # fmt: skip
    layers[1:] = [(*layer, cell.input_gates.weight, cell.input_gates.bias)
                  for layer, cell in zip(layers[1:], list(cells)[1:], strict=True)]  # fmt: skip
    tops, contexts, weights = _Decoder.apply(
        (steps, scale, is_token, drops, len(parameters)),
        decoder.stack.input_gates(embedded), of_tokens, states, keys, decoder.context_gates.weight, *parameters,
        *(tensor for layer in layers for tensor in layer),
    )  # fmt: skip
    features = tops if decoder.readout is None else decoder.readout(tops, contexts, embedded)
    return decoder.output_dropout(steps.unpack(features), of_features), steps.unpack(weights)


class _Additive:
    """Scores w_v^T tanh(q + k) of one step after the other; their hidden layer is made again in backward.

    tanh(x) = 2 sigmoid(2 x) - 1, and softmax ignores what is the same for all keys, so the hidden layer is
    g = sigmoid(2 (q + k)) = 1 / (1 + exp(-2 q) exp(-2 k)): the exponentials of the keys are taken once. Where
    such a product could be 0 times infinity, and on a GPU, the sigmoid of the sum is taken (`exact`).

        slope_j = ∂a_j * g_j * (1 - g_j),  ∂q = 4 w_v * sum over j of slope_j,  ∂k_j = 4 w_v * slope_j
        ∂w_v = 2 sum over j of ∂a_j g_j

    Args:
        keys: Projected (B, S, A).
        weight: w_v (A,).
    """

    def __init__(self, keys: Tensor, weight: Tensor, *, exact: bool = False) -> None:
        self.exact = exact or keys.is_cuda or not _is_safe(keys)
        self._keys, self._weight = keys, weight.to(keys.dtype)
        self._powers = keys if self.exact else torch.exp(-2 * keys)
        self._one, self._hidden = keys.new_ones(()), torch.empty_like(keys)
        self._of_keys, self._of_weight = torch.zeros_like(keys), keys.new_zeros(len(keys), 1, keys.shape[2])

    def _hidden_layer(self, query: Tensor) -> Tensor:
        hidden, query = self._hidden[: len(query)], query.unsqueeze(1).to(self._keys.dtype)
        if self.exact:
            return torch.add(query, self._keys[: len(query)], out=hidden).mul_(2).sigmoid_()
        power = torch.exp(-2 * query)
        return torch.addcmul(self._one, power, self._powers[: len(query)], out=hidden).reciprocal_()

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
    """Scores q^T k * scale; with projected keys also those of the bilinear score."""

    def __init__(self, keys: Tensor, scale: float) -> None:
        self._keys, self._columns, self._scale = keys, keys.mT.contiguous(), scale
        self._of_keys = torch.zeros_like(keys)

    def scores(self, query: Tensor) -> Tensor:
        """Return scores (n, S) of the queries of a step (n, Q)."""
        return torch.bmm((query * self._scale).unsqueeze(1), self._columns[: len(query)]).squeeze(1)

    def undo(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """Return the gradient of the queries (n, Q) from that of the scores (n, S)."""
        count = len(query)
        self._of_keys[:count].baddbmm_(of_scores.unsqueeze(2), (query * self._scale).unsqueeze(1))
        return torch.bmm(of_scores.unsqueeze(1), self._keys[:count]).squeeze(1).mul_(self._scale)

    def gradients(self) -> tuple[Tensor]:
        """Return the gradient of the keys, after all steps."""
        return (self._of_keys,)


def _is_safe(numbers: Tensor) -> bool:
    return not numbers.numel() or float(numbers.abs().amax()) <= SAFE_EXPONENT


class _Decoder(torch.autograd.Function):
    """States of the top layer (N, H), contexts (N, M) and weights (N, S) of every step.

    The query, W_q h (+ the token's share), has one product with the gates of the top layer. Gradients are those
    of all arguments after `form`:

        token_gates: W_x e + b_x of the lowest layer (N, 3 H); token_queries: the tokens' share of the queries
        (N, A), or e (N, E) where there is no W_q, or None; memory (B, S, M); keys (B, S, …); context_weight W_c;
        W_q and w_v of an additive score; of every layer its first state, W_h and b_h, and above the lowest
        W_x and b_x.
    """

    @staticmethod
    def forward(
        ctx: Any, form: tuple[Any, ...], token_gates: Tensor, token_queries: Tensor | None, memory: Tensor,
        keys: Tensor, context_weight: Tensor, *rest: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        with torch.autocast(memory.device.type, enabled=False):
            ctx.run = _Pass(form, token_gates, token_queries, memory, keys, context_weight, *rest)
            if not ctx.run.forward(exact=False):
                ctx.run.forward(exact=True)
        ctx.set_materialize_grads(False)
        return ctx.run.top.states[:], ctx.run.contexts[:], ctx.run.weights[:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        with torch.autocast(ctx.run.memory.device.type, enabled=False):
            return None, *ctx.run.backward(*gradients)


class _Pass:
    """The steps of `_Decoder`, forward and backward."""

    def __init__(
        self, form: tuple[Any, ...], token_gates: Tensor, token_queries: Tensor | None, memory: Tensor,
        keys: Tensor, context_weight: Tensor, *rest: Tensor,
    ) -> None:  # fmt: skip
        self.steps, self.scale, is_token, self.drops, num_score = form
        self.dtype, precise = token_gates.dtype, torch.promote_types(memory.dtype, torch.float32)
        self.multiple = ROWS if self.dtype.itemsize < 4 else 1
        self.token_gates, self.context_weight = token_gates, context_weight.to(self.dtype)
        self.token_queries = token_queries if token_queries is None else token_queries.to(precise)
        self.memory, self.keys = memory.to(precise), keys.to(precise)
        self.padding = torch.zeros_like(is_token, dtype=precise).masked_fill_(~is_token, -torch.inf)
        self.score_weights = rest[1:num_score]
        query_weight = list(rest[:1] if num_score else ())
        self.num_queries = sum(map(len, query_weight))
        layers = [rest[num_score : num_score + 3]]
        layers += [rest[start : start + 5] for start in range(num_score + 3, len(rest), 5)]
        self.layers = [GRULayer(*layer[:3], self.steps, self.dtype) for layer in layers[:-1]]
        initial, weight, bias = layers[-1][:3]
        bias = torch.cat([bias.new_zeros(self.num_queries), bias])
        self.top = GRULayer(initial, torch.cat([*query_weight, weight]), bias, self.steps, self.dtype)
        self.layers.append(self.top)
        self.inputs = [(layer[3].to(self.dtype), layer[4].to(self.dtype)) for layer in layers[1:]]
        num_tokens = self.steps.starts[-1]
        self.weights = self.memory.new_empty(num_tokens, memory.shape[1])
        self.contexts = self.memory.new_empty(num_tokens, memory.shape[2])
        self.operands = self.contexts.to(self.dtype)  # the contexts again, in the format of the products

    def queries(self, rows: slice, before: Tensor) -> Tensor:
        """Return the queries of some rows, `before` the states of the top layer."""
        if not self.num_queries:
            return (
                before if self.token_queries is None else torch.cat([before, self.token_queries[rows]], dim=1)
            )
        queries = self.top.products[rows, : self.num_queries]
        return queries if self.token_queries is None else queries + self.token_queries[rows]

    def forward(self, *, exact: bool) -> bool:
        """Run all steps; return False where queries are so large that it must be done again, `exact`."""
        steps, additive = self.steps, self.num_queries > 0
        self.attention = (
            _Additive(self.keys, *self.score_weights, exact=exact)
            if additive
            else _Dot(self.keys, self.scale)
        )
        for step, count in enumerate(steps.counts):
            rows, even = steps.rows(step), steps.rows(step, self.multiple)
            self.top.multiply(step)
            scores = self.attention.scores(self.queries(rows, self.top.before(step)))
            weights, context = self.weights[rows], self.contexts[rows]
            torch.softmax(scores.add_(self.padding[:count]), dim=-1, out=weights)
            torch.bmm(weights.unsqueeze(1), self.memory[:count], out=context.unsqueeze(1))
            if self.operands is not self.contexts:
                self.operands[rows] = context
            gates = torch.addmm(self.token_gates[even], self.operands[even], self.context_weight.T)[:count]
            for place, layer in enumerate(self.layers):
                if place:
                    weight, bias = self.inputs[place - 1]
                    gates = torch.addmm(bias, self.below(place, rows), weight.T)
                if layer is not self.top:
                    layer.multiply(step)
                layer.advance(step, gates)
        return (
            self.attention.exact or _is_safe(self.queries(slice(None), self.top.operands))
            if additive
            else True
        )

    def below(self, place: int, rows: slice) -> Tensor:
        """Return what a layer reads of the one below, in the format of the products."""
        states, drop = self.layers[place - 1].states[rows], self.drops[place - 1]
        return (states * drop[rows]).to(self.dtype)

    def backward(
        self, of_tops: Tensor | None, of_contexts: Tensor | None, of_weights: Tensor | None
    ) -> list[Tensor | None]:
        """Return the gradients of all tensors from those of the results."""
        steps, layers = self.steps, self.layers
        of_products = [torch.empty_like(layer.products) for layer in layers]
        of_inputs = [self.token_gates.new_empty(self.token_gates.shape) for _ in layers]
        of_states = [layer.before(0).new_zeros(steps.counts[0], layer.states.shape[1]) for layer in layers]
        of_context, of_scores = torch.empty_like(self.contexts), torch.empty_like(self.weights)
        of_tokens = None if self.token_queries is None else torch.empty_like(self.token_queries)
        columns = self.memory.mT.contiguous()  # products of one row are several times as fast with it
        for step in reversed(range(len(steps.counts))):
            rows, even, count = steps.rows(step), steps.rows(step, self.multiple), steps.counts[step]
            if of_tops is not None:
                of_states[-1][:count] += of_tops[rows]
            for place in reversed(range(len(layers))):
                layer, of_state = layers[place], of_states[place][:count]
                kept = layer.undo(step, of_state, of_inputs[place], of_products[place])
                if layer is not self.top:  # whose product is not complete without the query
                    kept += layer.back(step, of_products[place])
                of_state.copy_(kept)
                if place:
                    through = of_inputs[place][rows] @ self.inputs[place - 1][0]
                    of_states[place - 1][:count] += through * self.drops[place - 1][rows]
            context = of_context[rows]
            context.copy_((of_inputs[0][even] @ self.context_weight)[:count])
            if of_contexts is not None:
                context += of_contexts[rows]
            through = torch.bmm(context.unsqueeze(1), columns[:count]).squeeze(1)
            if of_weights is not None:
                through += of_weights[rows]
            mean = (through * self.weights[rows]).sum(dim=-1, keepdim=True)
            torch.mul(through.sub_(mean), self.weights[rows], out=of_scores[rows])
            of_query = self.attention.undo(self.queries(rows, self.top.before(step)), of_scores[rows])
            if of_tokens is not None:
                of_tokens[rows] = of_query[:, -of_tokens.shape[1] :]
            size = of_states[-1].shape[1]
            if self.num_queries:
                of_products[-1][rows, : self.num_queries] = of_query
            else:
                of_states[-1][:count] += of_query[:, :size]
            of_states[-1][:count] += self.top.back(step, of_products[-1])

        of_keys, *of_score = self.attention.gradients()
        weights, contexts = (steps.unpack(each, ordered=True) for each in (self.weights, of_context))
        of_layers: list[Tensor | None] = []
        for place, layer in enumerate(layers):
            of_weight, of_bias = layer.gradients(of_products[place])
            if layer is self.top and self.num_queries:
                of_score.insert(0, of_weight[: self.num_queries])
                of_weight, of_bias = of_weight[self.num_queries :], of_bias[self.num_queries :]
            of_layers += [of_states[place], of_weight, of_bias]
            if place:
                of_layers += [
                    of_inputs[place].T @ self.below(place, slice(None)),
                    of_inputs[place].sum(dim=0),
                ]
        return [
            of_inputs[0], of_tokens, weights.mT @ contexts, of_keys, of_inputs[0].T @ self.operands,
            *of_score, *of_layers,
        ]  # fmt: skip
