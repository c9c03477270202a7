"""The long short-term memory of decoders."""

import torch
from torch import Tensor

from seq2seq.models.layers import GRUCell


class LSTMCell(GRUCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), in the form of `torch.nn.LSTMCell`:

        i = sigmoid(x_i + h_i),  f = sigmoid(x_f + h_f),  o = sigmoid(x_o + h_o),  g = tanh(x_g + h_g)
        c' = f * c + i * g,  h' = o * tanh(c')

    with x = W_x input + b_x and h_i, h_f, h_g, h_o the parts of W_h h + b_h. The state is [h; c] (N, 2 H).
    """

    num_gates, state_factor = 4, 2

    def forward(self, gates: Tensor, state: Tensor) -> Tensor:
        """Return the new state (N, 2 H) from x (N, 4 H) and the previous state."""
        hidden, cell = state.chunk(2, dim=-1)
        gates = gates.to(state.dtype) + self.state_gates(hidden).to(state.dtype)
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
        return torch.cat([torch.sigmoid(output_gate) * torch.tanh(cell), cell], dim=-1)

    def output(self, state: Tensor) -> Tensor:
        """Return the output h (N, H) of a state [h; c]."""
        return state.chunk(2, dim=-1)[0]
