"""The backward pass of an unrolled decoder."""

from dataclasses import replace

import torch
from torch import Tensor

from seq2seq.model.fused.forward import DecoderPass
from seq2seq.model.fused.layer import bias_gradient, columns, even_product, weight_gradient
from seq2seq.model.fused.tensors import LayerTensors, UnrollTensors


class DecoderGradients:
    """Undoes the steps of a pass from the last to the first, then makes the weights' gradients."""

    def __init__(self, forward: DecoderPass) -> None:
        self._forward, self._steps = forward, forward.form.steps
        state, product = forward.top.states, forward.top.products
        gates = (len(state), 3 * state.shape[1])
        self._of_products = [torch.empty_like(layer.products) for layer in forward.layers]
        self._of_inputs = [product.new_empty(gates) for _ in forward.layers]
        shape = (self._steps.counts[0], state.shape[1])
        self._of_states = [state.new_zeros(shape) for _ in forward.layers]
        self._of_contexts = torch.empty_like(forward.contexts)
        self._of_scores = torch.empty_like(forward.weights)
        self._memory_columns = columns(forward.memory)
        tokens = forward.token_queries
        self._of_tokens = None if tokens is None else torch.empty_like(tokens)

    def run(
        self, of_tops: Tensor | None, of_contexts: Tensor | None, of_weights: Tensor | None
    ) -> None:
        """From the gradients of the pass's results (N, …); None stands for zeros."""
        self._forward.attention.begin_backward()
        for step in reversed(range(len(self._steps))):
            rows = self._steps.rows(step)
            if of_tops is not None:
                self._of_states[-1][: self._steps.counts[step]] += of_tops[rows]
            self._backward_layers(step, rows)
            of_context = self._of_contexts[rows]
            of_context.copy_(
                even_product(
                    self._of_inputs[0],
                    self._forward.context_weight,
                    self._steps,
                    step,
                    self._forward.form.precision,
                )
            )
            if of_contexts is not None:
                of_context += of_contexts[rows]
            self._backward_attention(step, rows, None if of_weights is None else of_weights[rows])
            through = self._forward.top.back(step, self._of_products[-1])
            self._of_states[-1][: len(through)] += through

    def _backward_layers(self, step: int, rows: slice) -> None:
        """From the states after a step to the direct share of those before it.

        The share that goes through the state's products is added for all layers but the top one,
        whose product is not complete without the query.
        """
        forward, last = self._forward, len(self._of_states) - 1
        for place in range(last, -1, -1):
            layer, of_states = forward.layers[place], self._of_states[place]
            of_states = of_states[: self._steps.counts[step]]
            of_inputs, of_products = self._of_inputs[place], self._of_products[place]
            kept = layer.backward_step(step, of_states, of_inputs, of_products)
            if place < last:
                kept += layer.back(step, of_products)
            of_states.copy_(kept)
            if place:
                below = forward.inputs[place - 1].backward_step(of_inputs, rows)
                self._of_states[place - 1][: len(below)] += below

    def _backward_attention(self, step: int, rows: slice, of_weights: Tensor | None) -> None:
        forward, weights = self._forward, self._forward.weights[rows]
        of_context = self._of_contexts[rows].unsqueeze(1)
        through_context = torch.bmm(of_context, self._memory_columns[: len(weights)]).squeeze(1)
        if of_weights is not None:
            through_context += of_weights
        of_scores = self._of_scores[rows]
        mean = (through_context * weights).sum(dim=-1, keepdim=True)
        torch.mul(through_context.sub_(mean), weights, out=of_scores)
        of_query = forward.attention.backward_step(forward.queries(step), of_scores)
        if self._of_tokens is not None:
            self._of_tokens[rows] = of_query[:, -self._of_tokens.shape[1] :]
        if forward.num_queries:
            self._of_products[-1][rows, : forward.num_queries] = of_query
        else:
            of_states = self._of_states[-1][: len(of_query)]
            of_states += of_query[:, : of_states.shape[1]]

    def collect(self) -> UnrollTensors:
        """The gradients that are one product over all steps."""
        forward, unpack = self._forward, self._steps.unpack_ordered
        of_keys, *of_score = forward.attention.gradients(
            self._of_scores, forward.all_queries(), unpack
        )
        *lower, top = (self._layer(place) for place in range(len(forward.layers)))
        num_queries = forward.num_queries
        if num_queries:
            of_score.insert(0, top.state_weight[:num_queries])
        own = replace(
            top,
            state_weight=top.state_weight[num_queries:],
            state_bias=top.state_bias[num_queries:],
        )
        return UnrollTensors(
            token_gates=self._of_inputs[0],
            token_queries=self._of_tokens,
            memory=unpack(forward.weights).mT @ unpack(self._of_contexts),
            keys=of_keys,
            context_weight=weight_gradient(self._of_inputs[0], forward.context_operands),
            score=tuple(of_score),
            layers=(*lower, own),
        )

    def _layer(self, place: int) -> LayerTensors:
        forward, of_products = self._forward, self._of_products[place]
        layer, precision = forward.layers[place], forward.form.precision
        of_input_parameters: tuple[Tensor | None, Tensor | None] = (None, None)
        if place:
            below = forward.layers[place - 1].states
            of_input_parameters = forward.inputs[place - 1].gradients(
                self._of_inputs[place], below, precision
            )
        return LayerTensors(
            self._of_states[place],
            weight_gradient(of_products, layer.operands),
            bias_gradient(of_products, precision),
            *of_input_parameters,
        )
