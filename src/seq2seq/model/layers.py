"""What a decoder is made of: cells, readouts, and dropout with cheap random numbers."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from seq2seq.model.memory import State

LEVELS = 2**16
"""Random numbers have 16 bits: p is rounded to a multiple of 1 / 65536."""


class _GatedLayer(nn.Module):
    """The parameters of a cell of `num_gates` gates, and the part of them that reads the input."""

    num_gates: int

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(input_size, self.num_gates * hidden_size)
        self.state_gates = nn.Linear(hidden_size, self.num_gates * hidden_size)
        bound = hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def inputs(self, inputs: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """The input's share x of the gates (G = `num_gates` H) of one step, or of all."""
        return self.input_gates(inputs)


class GRULayer(_GatedLayer):
    """A gated recurrent unit (Cho et al. 2014), in the form of `torch.nn.GRUCell`:

        r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r * h_n)
        h' = (1 - z) * n + z * h

    with x = W_x input + b_x and h_r, h_z, h_n the parts of W_h h + b_h. A `Cell` whose state is
    its output.
    """

    num_gates, num_states = 3, 1

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


class LSTMLayer(_GatedLayer):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), in the form of `torch.nn.LSTMCell`:

        i = sigmoid(x_i + h_i),  f = sigmoid(x_f + h_f),  o = sigmoid(x_o + h_o),
        g = tanh(x_g + h_g)
        c' = f * c + i * g,  h' = o * tanh(c')

    with x = W_x input + b_x and h_i, h_f, h_g, h_o the parts of W_h h + b_h. A `Cell` whose state
    is [h; c] and whose output is h.
    """

    num_gates, num_states = 4, 2

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


class Dropout(nn.Module):
    """Zeroes elements with probability p in training, and scales the others by 1 / (1 - p).

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    On a CPU `torch.nn.Dropout` spends several times as long on its random numbers: here each 64
    random bits decide about four elements.

    Args:
        p: probability of a zero, from 0 to below 1.
        by_sentence: drop the same elements of all tokens of a sentence: variational dropout (Gal
            and Ghahramani 2016), of inputs and outputs. Its masks are drawn once, by
            `of_sentences`, and handed to every call.
    """

    def __init__(self, p: float, *, by_sentence: bool = False) -> None:
        super().__init__()
        self.p = p
        self.by_sentence = by_sentence

    def forward(self, inputs: Tensor, shared: Tensor | None = None) -> Tensor:
        """Drop elements, or return the inputs themselves outside training.

        Args:
            inputs: of any shape.
            shared: what `of_sentences` gave, of a shape that broadcasts to the inputs; None to
                drop each element by itself.
        """
        if not self.training or not self.p:
            return inputs
        if shared is not None:
            return inputs * shared.to(inputs.dtype)
        return inputs * self._drawn(inputs) if _on_cpu(inputs) else dropout(inputs, self.p)

    def of_sentences(self, like: Tensor) -> Tensor | None:
        """What all tokens of a sentence are multiplied with, where they share that; else None.

        Args:
            like: one token of each sentence.
        """
        return self.mask(like) if self.by_sentence else None

    def mask(self, like: Tensor) -> Tensor | None:
        """What inputs of that shape and type would be multiplied with; None for nothing."""
        return self._drawn(like) if self.training and self.p else None

    def _drawn(self, like: Tensor) -> Tensor:
        return keep_mask(like, self.p) if _on_cpu(like) else dropout(torch.ones_like(like), self.p)


class Dropouts(nn.Module):
    """The dropout of a recurrent network, each with a probability of its own.

    Args:
        inputs: on the embedded tokens that it reads.
        between: on what a layer reads of the one below.
        outputs: on what it hands on: an encoder's states, a decoder's features.
    """

    def __init__(self, inputs: Dropout, between: Dropout, outputs: Dropout) -> None:
        super().__init__()
        self.inputs, self.between, self.outputs = inputs, between, outputs

    def of_sizes(self, like: Tensor, sizes: Sequence[int]) -> tuple[Tensor | None, ...]:
        """What `Dropout.of_sentences` gives for vectors of each of these sizes.

        Args:
            like: one vector of each sentence, of any size.
            sizes: of a token's embedding, of what each layer but the top one hands up, of outputs.
        """
        dropouts = [self.inputs, *[self.between] * (len(sizes) - 2), self.outputs]
        return tuple(
            dropout.of_sentences(like.new_empty(len(like), size))
            for dropout, size in zip(dropouts, sizes, strict=True)
        )


def _on_cpu(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu"


def keep_mask(inputs: Tensor, p: float) -> Tensor:
    """A tensor of the inputs' shape and type: 0 with probability p, else 1 / (1 - p)."""
    num_dropped = round(p * LEVELS)
    bits = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    kept, dropped = inputs.new_tensor([LEVELS / (LEVELS - num_dropped), 0])
    return torch.where(numbers >= num_dropped - LEVELS // 2, kept, dropped)


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
