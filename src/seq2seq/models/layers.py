"""Layers of recurrent decoders: the GRU cell, a stack of cells, the first state, and the deep output."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seq2seq.attention.attention import State


class GRUCell(nn.Module):
    """A gated recurrent unit (Cho et al. 2014), in the form of `torch.nn.GRUCell`:

        r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r * h_n)
        h' = (1 - z) * n + z * h

    with x = W_x input + b_x and h_r, h_z, h_n the parts of W_h h + b_h. W_x is a separate layer, so that x can be
    computed for all steps at once. The state is the output h (N, H).
    """

    # sizes of x and of the state, in multiples of H; `LSTMCell`, with [h; c], has others
    num_gates, state_factor = 3, 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_gates = nn.Linear(input_size, self.num_gates * hidden_size)
        self.state_gates = nn.Linear(hidden_size, self.num_gates * hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def forward(self, gates: Tensor, state: Tensor) -> Tensor:
        """Return the new state (N, H) from `gates`, x (N, 3 H) of `input_gates`, and the previous state."""
        sizes = [2 * self.hidden_size, self.hidden_size]
        input_rz, input_n = gates.to(state.dtype).split(sizes, dim=-1)  # float32, also under autocast
        state_rz, state_n = self.state_gates(state).to(state.dtype).split(sizes, dim=-1)
        reset, update = torch.sigmoid(input_rz + state_rz).chunk(2, dim=-1)
        candidate = torch.tanh(input_n + reset * state_n)
        return torch.lerp(candidate, state, update)  # (1 - z) * n + z * h

    def output(self, state: Tensor) -> Tensor:
        """Return the output h (N, H) of a state."""
        return state


class RecurrentStack(nn.Module):
    """A stack of L recurrent cells (`GRUCell` or a subclass) of size H, with dropout between them, one step at a time."""

    def __init__(
        self, cell: type[GRUCell], input_size: int, hidden_size: int, num_layers: int, dropout: nn.Dropout
    ) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (num_layers - 1)
        self.cells: Any = nn.ModuleList(cell(size, hidden_size) for size in sizes)
        self.dropout, self.hidden_size = dropout, hidden_size
        self.state_size, self.gates_size = cell.state_factor * hidden_size, cell.num_gates * hidden_size

    def __len__(self) -> int:
        return len(self.cells)

    def input_gates(self, inputs: Tensor) -> Tensor:
        """Return x of the lowest cell (…, G), for one step or all steps."""
        return self.cells[0].input_gates(inputs)

    def forward(self, gates: Tensor, states: State) -> State:
        """Return the new state of each cell from `input_gates` of the lowest cell (N, G) and the previous states."""
        new_states = [self.cells[0](gates, states[0])]
        for cell, state in zip(list(self.cells)[1:], states[1:], strict=True):
            inputs = self.dropout(cell.output(new_states[-1]))
            new_states.append(cell(cell.input_gates(inputs), state))
        return tuple(new_states)

    def top(self, states: State) -> Tensor:
        """Return the output of the highest cell (N, H)."""
        return self.cells[-1].output(states[-1])


class Bridge(nn.Module):
    """The first state s_0 of each layer of a decoder, computed from the encoder's summary of a sentence (F).

    `kind` is ``linear``: tanh(W summary + b); ``copy``: the summary, which must have the size of all states; or ``zeros``.

    Raises:
        ValueError: `kind` is unknown, or ``copy`` with different sizes.
    """

    def __init__(self, kind: str, summary_size: int, state_size: int, num_layers: int) -> None:
        super().__init__()
        total = state_size * num_layers
        if kind not in ("linear", "copy", "zeros"):
            raise ValueError(f"initial_state={kind}: choose one of linear, copy, zeros")
        if kind == "copy" and summary_size != total:
            raise ValueError(
                f"initial_state=copy: the encoder's final states have {summary_size} numbers, the decoder's "
                f"states {total}; choose linear or make the sizes equal"
            )
        self.kind, self.num_layers, self.total = kind, num_layers, total
        self.projection = nn.Linear(summary_size, total) if kind == "linear" else None

    def forward(self, summary: Tensor) -> State:
        """Return one tensor per layer (B, state size), in float32 or float64, from summaries (B, F)."""
        if self.kind == "zeros":
            summary = summary.new_zeros(summary.shape[0], self.total)
        elif self.projection is not None:
            summary = torch.tanh(self.projection(summary))
        return summary.to(torch.promote_types(summary.dtype, torch.float32)).chunk(self.num_layers, dim=-1)


class DeepOutput(nn.Module):
    """Features tanh(W_s s + b + W_c c + W_e e) (R) of state (H), context (M) and embedded token (E).

    The deep output of Bahdanau et al. (2015), with tanh in place of their maxout.
    """

    def __init__(self, hidden_size: int, memory_size: int, embedding_size: int, size: int) -> None:
        super().__init__()
        self.state = nn.Linear(hidden_size, size)
        self.context = nn.Linear(memory_size, size, bias=False)
        self.embedded = nn.Linear(embedding_size, size, bias=False)

    def forward(self, state: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """Return features (…, R) from state (…, H), context (…, M) and embedded token (…, E)."""
        return torch.tanh(self.state(state) + self.context(context) + self.embedded(embedded))


def pack_steps(tokens: Tensor, lengths: Tensor | None) -> tuple[PackedSequence, list[int], Tensor]:
    """Put the tokens (B, T) in the order of the steps, so that padding is never computed.

    Each step has the longest sentences first, and fewer rows than the one before it where sentences have ended: of two
    sentences of 2 and 3 tokens, the rows are 2, 2, 1 and the order is 1, 0. Without lengths (B,), all tokens are real.

    Returns:
        The tokens, the number of rows of each step, and the order of the sentences (B,).
    """
    lengths = torch.full(tokens.shape[:1], tokens.shape[1]) if lengths is None else lengths.cpu()
    packed = pack_padded_sequence(tokens, lengths, batch_first=True, enforce_sorted=False)
    assert packed.sorted_indices is not None
    return packed, packed.batch_sizes.tolist(), packed.sorted_indices


def padded(steps: Sequence[Tensor], packed: PackedSequence, length: int) -> Tensor:
    """Return what the steps of `packed` have computed, as a tensor (B, `length`, …) in the order of the batch, zero on padding."""
    whole = packed._replace(data=torch.cat(list(steps)))
    return pad_packed_sequence(whole, batch_first=True, total_length=length)[0]
