"""One GRU layer of the fused unroll: forward and backward of a step, without autograd."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class LayerPass:
    """One layer during a pass: its parameters, and what backward needs of every step.

    Args:
        initial: state before the first step (B, H).
        parameters: weight and bias of the state's gates, weight and bias of the input's gates, and
            the mask that the input is multiplied with; the last three None in the first layer,
            the mask also where there is no dropout.
        steps: number of steps.
    """

    def __init__(self, initial: Tensor, parameters: Sequence[Any], steps: int) -> None:
        self.weight, self.bias, self.input_weight, self.input_bias, mask = parameters
        self.mask = None if mask is None else mask.transpose(0, 1)
        batch_size, hidden_size = initial.shape
        self.states = initial.new_empty(steps + 1, batch_size, hidden_size)
        self.states[0] = initial
        self.reset_update = initial.new_empty(steps, batch_size, 2 * hidden_size)
        self.candidate = initial.new_empty(steps, batch_size, hidden_size)
        self.state_candidate = initial.new_empty(steps, batch_size, hidden_size)

    def inputs(self, below: Tensor, step: int | slice) -> Tensor:
        """The new states of the layer below, as this layer sees them."""
        return below if self.mask is None else below * self.mask[step]

    def advance(self, step: int, input_gates: Tensor, state_gates: Tensor) -> None:
        """The GRU equations, see `GRULayer`."""
        size = self.candidate.shape[-1]
        gates = self.reset_update[step]
        torch.add(input_gates[:, : 2 * size], state_gates[:, : 2 * size], out=gates).sigmoid_()
        reset, update = gates[:, :size], gates[:, size:]
        self.state_candidate[step] = state_gates[:, 2 * size :]
        candidate = self.candidate[step]
        torch.addcmul(input_gates[:, 2 * size :], reset, self.state_candidate[step], out=candidate)
        # tanh(x) = 2 sigmoid(2 x) - 1, which is several times as fast on a CPU
        candidate.mul_(2).sigmoid_().mul_(2).sub_(1)
        torch.lerp(candidate, self.states[step], update, out=self.states[step + 1])

    def retreat(self, step: int, gradient: Tensor, of_input: Tensor, of_state: Tensor) -> Tensor:
        """Gradients of the input's and the state's gates, from that of the new state.

        They are written into `of_input` and `of_state`; the direct share of the old state's
        gradient is returned.
        """
        size = self.candidate.shape[-1]
        reset, update = self.reset_update[step].split(size, dim=-1)
        candidate, previous = self.candidate[step], self.states[step]
        kept = gradient * update
        of_candidate = (gradient - kept) * (1 - candidate * candidate)
        of_input[:, 2 * size :] = of_candidate
        torch.mul(of_candidate, reset, out=of_state[:, 2 * size :])
        of_reset = of_candidate * self.state_candidate[step] * reset * (1 - reset)
        of_update = (previous - candidate) * kept * (1 - update)
        for gates in (of_input, of_state):
            gates[:, :size] = of_reset
            gates[:, size : 2 * size] = of_update
        return kept
