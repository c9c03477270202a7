"""What a decoder is made of: recurrent cells and readouts."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.dropout import Dropout
from seq2seq.model.memory import State


class GRULayer(nn.Module):
    """A gated recurrent unit (Cho et al. 2014), in the form of `torch.nn.GRUCell`:

        r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r * h_n)
        h' = (1 - z) * n + z * h

    with x = W_x input + b_x and h_r, h_z, h_n the parts of W_h h + b_h. A `Cell` whose state is
    its output.
    """

    num_gates, num_states = 3, 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(input_size, 3 * hidden_size)
        self.state_gates = nn.Linear(hidden_size, 3 * hidden_size)
        bound = hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def inputs(self, inputs: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """The input's share x of the gates (G = 3 H), for one step or for all of them at once."""
        return self.input_gates(inputs)

    def advance(
        self, inputs: Float[Tensor, "N G"], state: Float[Tensor, "N H"]
    ) -> Float[Tensor, "N H"]:
        """The state after one step, from x and the state before it."""
        input_r, input_z, input_n = inputs.to(state.dtype).chunk(3, dim=-1)
        state_r, state_z, state_n = self.state_gates(state).to(state.dtype).chunk(3, dim=-1)
        reset = torch.sigmoid(input_r + state_r)
        update = torch.sigmoid(input_z + state_z)
        candidate = torch.tanh(input_n + reset * state_n)
        return candidate + update * (state - candidate)

    def output(self, state: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        """The state itself."""
        return state


class LSTMLayer(nn.Module):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), in the form of `torch.nn.LSTMCell`:

        i = sigmoid(x_i + h_i),  f = sigmoid(x_f + h_f),  o = sigmoid(x_o + h_o),
        g = tanh(x_g + h_g)
        c' = f * c + i * g,  h' = o * tanh(c')

    with x = W_x input + b_x and h_i, h_f, h_g, h_o the parts of W_h h + b_h. A `Cell` whose state
    is [h; c] and whose output is h.
    """

    num_gates, num_states = 4, 2

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(input_size, 4 * hidden_size)
        self.state_gates = nn.Linear(hidden_size, 4 * hidden_size)
        bound = hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def inputs(self, inputs: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """The input's share x of the gates (G = 4 H), for one step or for all of them at once."""
        return self.input_gates(inputs)

    def advance(
        self, inputs: Float[Tensor, "N G"], state: Float[Tensor, "N C"]
    ) -> Float[Tensor, "N C"]:
        """The state (C = 2 H) after one step, from x and the state before it."""
        hidden, cell = state.chunk(2, dim=-1)
        gates = inputs.to(state.dtype) + self.state_gates(hidden).to(state.dtype)
        entry, forget, candidate, output = gates.chunk(4, dim=-1)
        kept = torch.sigmoid(forget) * cell
        cell = kept + torch.sigmoid(entry) * torch.tanh(candidate)
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=-1)

    def output(self, state: Float[Tensor, "N C"]) -> Float[Tensor, "N H"]:
        """H."""
        return state.chunk(2, dim=-1)[0]


Layer = GRULayer | LSTMLayer
CELLS: dict[str, type[GRULayer] | type[LSTMLayer]] = {"gru": GRULayer, "lstm": LSTMLayer}


class StateReadout(nn.Module):
    """The state itself is the feature vector: R = H."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.feature_size = hidden_size

    def forward(self, state: Tensor, context: Tensor, embedded: Tensor) -> Tensor:  # noqa: ARG002
        """Return the state (..., H)."""
        return state


class DeepReadout(nn.Module):
    """tanh(W_s s + W_c c + W_e e), the deep output of Bahdanau et al. (2015) with a tanh.

    Args:
        hidden_size: size H of the state s.
        memory_size: size M of the context c.
        embedding_size: size E of the embedded previous token e.
        feature_size: size R of the features.
    """

    def __init__(
        self, hidden_size: int, memory_size: int, embedding_size: int, feature_size: int
    ) -> None:
        super().__init__()
        self.feature_size = feature_size
        self.state = nn.Linear(hidden_size, feature_size)
        self.context = nn.Linear(memory_size, feature_size, bias=False)
        self.embedded = nn.Linear(embedding_size, feature_size, bias=False)

    def forward(self, state: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """Features (..., R) of state (..., H), context (..., M) and embedded token (..., E)."""
        return torch.tanh(self.state(state) + self.context(context) + self.embedded(embedded))


Readout = StateReadout | DeepReadout


def advance_layers(
    layers: Sequence[Layer],
    inputs: Float[Tensor, "N G"],
    states: State,
    dropout: Dropout,
    masks: Sequence[Tensor | None],
) -> State:
    """The new states of layers above each other, after one step.

    Args:
        layers: the first one at the bottom.
        inputs: the input's share of the first one's gates.
        states: one tensor a layer, of the step before.
        dropout: on what a layer reads of the one below.
        masks: what that is multiplied with where the tokens of a sentence share it, see `Dropout`.
    """
    new = [layers[0].advance(inputs, states[0])]
    for layer, state, mask in zip(layers[1:], states[1:], masks, strict=True):
        below = dropout(layer.output(new[-1]), mask)
        new.append(layer.advance(layer.inputs(below), state))
    return tuple(new)
