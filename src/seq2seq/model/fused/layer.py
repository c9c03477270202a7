"""One GRU layer of an unrolled recurrence: forward and backward of a step, without autograd."""

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.model.fused.steps import Steps
from seq2seq.model.precision import Precision


class LayerPass:
    """One layer during a pass: its products and gates, kept for the backward pass.

    Everything of all steps is packed, see `Steps`.

    Args:
        initial: state before the first step (B, H), the longest sentences first.
        weight: W_h, from the state to its share of the gates, in the last 3 H rows; rows before
            them make other products of the state (P, H).
        bias: of the same rows.
        steps: where the tokens are.
        precision: formats of the pass.

    Attributes:
        states: after each step (N, H).
        operands: before each step, in the format of the products (N, H).
        products: of the operands with the weight (N, P).
        weight: in the format of the products.
    """

    def __init__(
        self, initial: Tensor, weight: Tensor, bias: Tensor, steps: Steps, precision: Precision
    ) -> None:
        self._steps, self._precision = steps, precision
        self._initial = initial.to(precision.state)
        num_tokens, size = steps.num_tokens, initial.shape[1]
        self._size = size
        self.weight, self._bias = weight.to(precision.product), bias.to(precision.product)
        self.operands = self.weight.new_empty(num_tokens, size)
        self.products = self.weight.new_empty(num_tokens, len(weight))
        self._gates = self.products[:, len(weight) - 3 * size :]
        self.states = self._initial.new_empty(num_tokens, size)
        self._reset_update = self.states.new_empty(num_tokens, 2 * size)
        self._candidate = self.states.new_empty(num_tokens, size)

    def before(self, step: int) -> Tensor:
        """The states before a step."""
        if step:
            return self.states[self._steps.rows_before(step)]
        return self._initial[: self._steps.counts[0]]

    def multiply(self, step: int) -> None:
        """The products of the states before a step."""
        rows = self._steps.rows(step)
        self.operands[rows] = self.before(step)
        rows = self._steps.rows_at_least(step, self._precision)  # the others are written later
        torch.addmm(self._bias, self.operands[rows], self.weight.T, out=self.products[rows])

    def back(self, step: int, of_products: Tensor) -> Tensor:
        """The gradient of the operands of a step, from that of all products (N, P)."""
        return even_product(of_products, self.weight, self._steps, step, self._precision)

    def advance(self, step: int, input_gates: Tensor) -> Tensor:
        """The GRU equations, see `GRULayer`, from the input's share x of the gates (…, 3 H).

        Returns:
            The new states.
        """
        rows = self._steps.rows(step)
        return advance_state(
            input_gates,
            self._gates[rows],
            self.before(step),
            gates=self._reset_update[rows],
            candidate=self._candidate[rows],
            out=self.states[rows],
        )

    def backward_step(
        self, step: int, gradient: Tensor, of_input: Tensor, of_products: Tensor
    ) -> Tensor:
        """Undo a step: gradients of both shares of the gates, from that of the new states.

        They are written into the rows of the step of `of_input` (N, 3 H) and of the last 3 H
        columns of `of_products`; the direct share of the old states' gradient is returned.
        """
        rows, size = self._steps.rows(step), self._size
        of_input, of_state = of_input[rows], of_products[rows, -3 * size :]
        gates, candidate = self._reset_update[rows], self._candidate[rows]
        kept = gradient * gates[:, size:]
        of_candidate = torch.ops.aten.tanh_backward(gradient - kept, candidate)
        of_input[:, 2 * size :] = of_candidate
        torch.mul(of_candidate, gates[:, :size], out=of_state[:, 2 * size :])
        of_gates = torch.empty_like(gates)
        torch.mul(of_candidate, self._gates[rows, 2 * size :], out=of_gates[:, :size])
        torch.sub(self.before(step), candidate, out=of_gates[:, size:]).mul_(gradient)
        through = of_input[:, : 2 * size]
        torch.ops.aten.sigmoid_backward.grad_input(of_gates, gates, grad_input=through)
        of_state[:, : 2 * size] = through
        return kept


class InputProduct:
    """The input's share of the gates of a layer above another.

    Args:
        weight: W_x (3 H, H).
        bias: b_x.
        mask: what the input is multiplied with (N, H), or None.
        precision: formats of the pass.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor, mask: Tensor | None, precision: Precision
    ) -> None:
        self._weight, self._bias = weight.to(precision.product), bias.to(precision.product)
        self._mask = None if mask is None else mask.to(precision.product)

    def gates(self, below: Tensor, rows: slice) -> Tensor:
        """From the new states of the layer below in some rows."""
        inputs = self._masked(below, rows).to(self._weight.dtype)
        return torch.addmm(self._bias, inputs, self._weight.T)

    def backward_step(self, of_gates: Tensor, rows: slice) -> Tensor:
        """The gradient of the new states of the layer below in some rows."""
        return self._masked(of_gates[rows] @ self._weight, rows)

    def gradients(
        self, of_gates: Tensor, below: Tensor, precision: Precision
    ) -> tuple[Tensor, Tensor]:
        """Of weight and bias, from all steps."""
        inputs = self._masked(below, slice(None)).to(precision.product)
        return weight_gradient(of_gates, inputs), bias_gradient(of_gates, precision)

    def _masked(self, inputs: Tensor, rows: slice) -> Tensor:
        return inputs if self._mask is None else inputs * self._mask[rows]


def even_product(
    packed: Tensor, weight: Tensor, steps: Steps, step: int, precision: Precision
) -> Tensor:
    """The product of the rows of a step with a weight."""
    return (packed[steps.rows_at_least(step, precision)] @ weight)[: steps.counts[step]]


def columns(matrices: Tensor) -> Tensor:
    """The transpose, laid out so that products of one row are several times as fast on a CPU."""
    return matrices.mT.contiguous()


def weight_gradient(of_outputs: Tensor, inputs: Tensor) -> Tensor:
    """The gradient of a weight: the sum of outer products over all tokens."""
    return of_outputs.T @ inputs


def bias_gradient(of_outputs: Tensor, precision: Precision) -> Tensor:
    """The gradient of a bias: the sum over all tokens."""
    return of_outputs.sum(dim=0, dtype=precision.state)


def advance_state(
    input_gates: Float[Tensor, "N G"],
    state_gates: Float[Tensor, "N G"],
    state: Float[Tensor, "N H"],
    *,
    gates: Tensor | None = None,
    candidate: Tensor | None = None,
    out: Tensor | None = None,
) -> Float[Tensor, "N H"]:
    """The equations of `GRULayer` without autograd, both shares of the gates given.

    Args:
        input_gates: x.
        state_gates: h_r, h_z and h_n.
        state: h.
        gates: where r and z are written (N, 2 H); None for a new tensor.
        candidate: where n is written (N, H).
        out: where h' is written (N, H).
    """
    size = state.shape[-1]
    gates = state.new_empty(len(state), 2 * size) if gates is None else gates
    torch.add(input_gates[:, : 2 * size], state_gates[:, : 2 * size], out=gates).sigmoid_()
    reset, update = gates[:, :size], gates[:, size:]
    candidate = torch.empty_like(state) if candidate is None else candidate
    torch.addcmul(input_gates[:, 2 * size :], reset, state_gates[:, 2 * size :], out=candidate)
    # tanh(x) = 2 sigmoid(2 x) - 1, which is several times as fast on a CPU
    candidate.mul_(2).sigmoid_().mul_(2).sub_(1)
    return torch.lerp(candidate, state, update, out=out)
