"""One GRU layer whose products are split, so that many steps can share one."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class GRULayer(nn.Module):
    """A gated recurrent unit (Cho et al. 2014), in the form of `torch.nn.GRUCell`:

        r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r * h_n)
        h' = (1 - z) * n + z * h

    with x = W_x input + b_x and h_r, h_z, h_n the parts of W_h h + b_h. `advance` takes x itself,
    for callers who have computed it for all steps at once or add to it.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(input_size, 3 * hidden_size)
        self.state_gates = nn.Linear(hidden_size, 3 * hidden_size)
        bound = hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(
        self, inputs: Float[Tensor, "B I"], state: Float[Tensor, "B H"]
    ) -> Float[Tensor, "B H"]:
        """The state after one step."""
        return self.advance(self.input_gates(inputs), state)

    def advance(
        self, input_gates: Float[Tensor, "B G"], state: Float[Tensor, "B H"]
    ) -> Float[Tensor, "B H"]:
        """The state after one step whose input's share x is given (G = 3 H)."""
        input_r, input_z, input_n = input_gates.chunk(3, dim=-1)
        state_r, state_z, state_n = self.state_gates(state).chunk(3, dim=-1)
        reset = torch.sigmoid(input_r + state_r)
        update = torch.sigmoid(input_z + state_z)
        candidate = torch.tanh(input_n + reset * state_n)
        return candidate + update * (state - candidate)


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
