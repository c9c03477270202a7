"""The plain loop with shorter products: what is the same at all steps is converted once.

Autocast alone would convert the memory at every step, and make the gradient of every weight as a
small product a step, added up in the short format.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.model.contracts import Decoder
from seq2seq.model.decoder import Unrolled, unroll
from seq2seq.model.fused.layer import bias_gradient, weight_gradient
from seq2seq.model.memory import Memory
from seq2seq.model.precision import Precision


def unroll_loop(
    decoder: Decoder,
    target_input: Int[Tensor, "B T"],
    memory: Memory,
    target_lengths: Int[Tensor, " B"] | None = None,
) -> Unrolled:
    """`seq2seq.model.decoder.unroll`; under autocast differentiable once."""
    precision = Precision.of(memory.states)
    if not precision.is_mixed:
        return unroll(decoder, target_input, memory, target_lengths)
    states = memory.states.to(precision.product)
    keys = states if memory.keys is memory.states else memory.keys
    projected = keys if memory.projected_keys is memory.keys else memory.projected_keys
    memory = replace(memory, states=states, keys=keys, projected_keys=projected)
    with _StepProducts(precision):
        return unroll(decoder, target_input, memory, target_lengths)


class _StepProducts(TorchFunctionMode):
    """Inside it a linear layer's weight is converted once, and its gradient is one product."""

    def __init__(self, precision: Precision) -> None:
        super().__init__()
        self._precision = precision
        self._known: dict[tuple[int, int], _Weight] = {}

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        operation = self._linear if function is linear else function
        return operation(*args, **(kwargs or {}))

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        place = id(weight), id(bias)
        if place not in self._known:
            self._known[place] = _Weight(self._precision, (weight, bias))
        known = self._known[place]
        return _Product.apply(known.terms, inputs.to(self._precision.product), *known.converted)


class _Weight:
    """A weight and its bias.

    Attributes:
        converted: both in the format of the products.
        terms: of each product the gradient of its result, and its inputs.
    """

    def __init__(self, precision: Precision, tensors: tuple[Tensor, Tensor | None]) -> None:
        self.tensors = tensors  # kept, so that nothing else has their place
        self.terms: list[tuple[Tensor, Tensor]] = []
        self.converted = _Conversion.apply(self.terms, precision, *tensors)


class _Conversion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, terms: Any, precision: Precision, *tensors: Tensor | None) -> Any:
        ctx.terms, ctx.precision = terms, precision
        return tuple(None if each is None else each.to(precision.product) for each in tensors)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("the loop in autocast's format")
        of_outputs, inputs = map(torch.cat, zip(*ctx.terms, strict=True))
        ctx.terms.clear()
        of_bias = bias_gradient(of_outputs, ctx.precision) if ctx.needs_input_grad[3] else None
        return None, None, weight_gradient(of_outputs, inputs), of_bias


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, terms: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        ctx.terms = terms
        ctx.save_for_backward(inputs, weight)
        return linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, of_output: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        ctx.terms.append((of_output.flatten(end_dim=-2), inputs.flatten(end_dim=-2)))
        return None, of_output @ weight, None, None
