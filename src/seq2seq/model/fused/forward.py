"""The forward pass of an unrolled decoder, kept for its backward pass. Tokens are packed."""

import torch
from torch import Tensor

from seq2seq.model.fused.attention import AttentionPass
from seq2seq.model.fused.layer import InputProduct, LayerPass
from seq2seq.model.fused.tensors import UnrollForm, UnrollTensors


class DecoderPass:
    """Runs all steps.

    Args:
        form: what decides the pass.
        tensors: what it computes with.
    """

    def __init__(self, form: UnrollForm, tensors: UnrollTensors) -> None:
        self.form, self.tensors = form, tensors
        product, state = form.precision.product, form.precision.state
        self.memory = tensors.memory.to(state)
        self.attention = self._attention(exact=False)
        self.token_gates = tensors.token_gates.to(product)
        self.context_weight = tensors.context_weight.to(product)
        self.padding = self.memory.new_zeros(form.source_is_token.shape)
        self.padding.masked_fill_(~form.source_is_token, -torch.inf)
        query_weights = tensors.score[:1]
        self.num_queries = sum(map(len, query_weights))
        self.token_queries = tensors.token_queries
        *lower, top = tensors.layers
        # the query and the top layer's gates share one product with its state
        top_weight = torch.cat([*query_weights, top.state_weight])
        top_bias = torch.cat([top.state_bias.new_zeros(self.num_queries), top.state_bias])
        weights = [*(layer.state_weight for layer in lower), top_weight]
        biases = [*(layer.state_bias for layer in lower), top_bias]
        self.layers = [
            LayerPass(layer.initial_state, weight, bias, form.steps, form.precision)
            for layer, weight, bias in zip(tensors.layers, weights, biases, strict=True)
        ]
        self.top = self.layers[-1]
        self.inputs = [
            InputProduct(*layer.input_parameters(), mask, form.precision)
            for layer, mask in zip(tensors.layers[1:], form.input_masks, strict=True)
        ]
        num_tokens, (_, positions, size) = form.steps.num_tokens, self.memory.shape
        self.weights = self.memory.new_empty(num_tokens, positions)
        self.contexts = self.memory.new_empty(num_tokens, size)
        self.context_operands = self.contexts
        if form.precision.is_mixed:
            self.context_operands = torch.empty_like(self.contexts, dtype=product)

    def _attention(self, *, exact: bool) -> AttentionPass:
        keys = self.tensors.keys.to(self.form.precision.state)
        return self.form.begin(keys, *self.tensors.score[1:], exact=exact)

    def queries(self, step: int) -> Tensor:
        """Queries of the attention: projected states, or the states themselves."""
        rows = self.form.steps.rows(step)
        if not self.num_queries:
            return self._with_tokens(self.top.before(step), rows)
        return self._with_tokens(self.top.products[rows, : self.num_queries], rows)

    def all_queries(self) -> Tensor:
        """Those of all steps (N, A)."""
        if not self.num_queries:
            return self._with_tokens(self.top.operands, slice(None))
        return self._with_tokens(self.top.products[:, : self.num_queries], slice(None))

    def _with_tokens(self, queries: Tensor, rows: slice) -> Tensor:
        """The query [s; e], or W_q s + W_y e where there is a W_q."""
        if self.token_queries is None:
            return queries
        tokens = self.token_queries[rows].to(self.form.precision.state)
        return queries + tokens if self.num_queries else torch.cat([queries, tokens], dim=-1)

    def run(self) -> None:
        """Run all steps; once more and slower where the numbers are very large."""
        self._run()
        if self.attention.overflowed(self.all_queries()):
            self.attention = self._attention(exact=True)
            self._run()

    def _run(self) -> None:
        *lower, top = self.layers
        for step in range(len(self.form.steps)):
            rows = self.form.steps.rows(step)
            top.multiply(step)
            self._attend(step, rows)
            even = self.form.steps.rows_at_least(step, self.form.precision)
            gates = torch.addmm(
                self.token_gates[even], self.context_operands[even], self.context_weight.T
            )[: self.form.steps.counts[step]]
            for layer, above in zip(lower, self.inputs, strict=True):
                layer.multiply(step)
                gates = above.gates(layer.advance(step, gates), rows)
            top.advance(step, gates)

    def _attend(self, step: int, rows: slice) -> None:
        """The context of a step, also in the format of the products."""
        weights, context = self.weights[rows], self.contexts[rows]
        count = len(weights)
        scores = self.attention.scores(self.queries(step)).add_(self.padding[:count])
        torch.softmax(scores, dim=-1, out=weights)
        torch.bmm(weights.unsqueeze(1), self.memory[:count], out=context.unsqueeze(1))
        if self.form.precision.is_mixed:
            self.context_operands[rows] = context
