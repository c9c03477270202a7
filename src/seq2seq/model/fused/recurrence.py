"""A GRU layer over all steps of its input as one operation, for the encoder."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.model.fused.layer import LayerPass, bias_gradient, weight_gradient
from seq2seq.model.fused.steps import Steps
from seq2seq.model.precision import Precision


def unroll_layer(
    input_gates: Float[Tensor, "N G"],
    initial_state: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
    bias: Float[Tensor, " G"],
    steps: Steps,
) -> Float[Tensor, "N H"]:
    """Run a GRU layer over all steps; differentiable once.

    One product a step forward and one backward; the weight's gradient is one product over all
    steps. Under autocast the products take its type, the state stays in float32.

    Args:
        input_gates: the input's share of the gates, W_x x + b_x (G = 3 H), see `GRULayer`.
        initial_state: state before the first step, the longest sentences first.
        weight: W_h.
        bias: b_h.
        steps: where the tokens are.

    Returns:
        The states after each step.
    """
    precision = Precision.of(input_gates)
    return _UnrolledLayer.apply(precision, steps, input_gates, initial_state, weight, bias)


class _UnrolledLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        precision: Precision,
        steps: Steps,
        input_gates: Tensor,
        initial_state: Tensor,
        weight: Tensor,
        bias: Tensor,
    ) -> Tensor:
        with torch.autocast(input_gates.device.type, enabled=False):
            layer = LayerPass(initial_state, weight, bias, steps, precision)
            for step in range(len(steps)):
                layer.multiply(step)
                layer.advance(step, input_gates[steps.rows(step)])
        ctx.precision, ctx.steps, ctx.layer = precision, steps, layer
        return layer.states[:]  # a view: an output that ctx itself held would never be freed

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("the unrolled GRU layer")
        layer, steps = ctx.layer, ctx.steps
        of_inputs, of_products = (torch.empty_like(layer.products) for _ in range(2))
        of_state = gradient.new_zeros(steps.counts[0], gradient.shape[1])
        with torch.autocast(gradient.device.type, enabled=False):
            for step in reversed(range(len(steps))):
                rows = steps.rows(step)
                current = of_state[: steps.counts[step]]
                current += gradient[rows]
                kept = layer.backward_step(step, current, of_inputs, of_products)
                torch.add(kept, layer.back(step, of_products), out=current)
            of_weight = weight_gradient(of_products, layer.operands)
            of_bias = bias_gradient(of_products, ctx.precision)
        return None, None, of_inputs, of_state, of_weight, of_bias
