"""Cells against torch's own layers: states of a whole sequence, and every gradient."""

import pytest
import torch
from torch import nn

from seq2seq.model.layers import GRULayer, LSTMLayer

PARAMETERS = {
    "weight_ih_l0": "input_gates.weight",
    "bias_ih_l0": "input_gates.bias",
    "weight_hh_l0": "state_gates.weight",
    "bias_hh_l0": "state_gates.bias",
}


@pytest.mark.parametrize(
    ("cell", "layer"), [(GRULayer, nn.GRU), (LSTMLayer, nn.LSTM)], ids=["gru", "lstm"]
)
def test_a_cell_stepped_through_a_sequence_is_torchs_layer_with_every_gradient(cell, layer):
    torch.manual_seed(0)
    own, torchs = cell(5, 3).double(), layer(5, 3).double()
    for theirs, name in PARAMETERS.items():
        getattr(torchs, theirs).data = own.get_parameter(name).data.clone()
    inputs = torch.randn(6, 4, 5, dtype=torch.float64)
    initial = [torch.randn(4, 3, dtype=torch.float64) for _ in range(cell.num_states)]
    states = [state[None] for state in initial]
    expected, last = torchs(inputs, states[0] if len(states) == 1 else tuple(states))

    state, outputs = torch.cat(initial, dim=-1), []
    for gates in own.inputs(inputs):
        state = own.advance(gates, state)
        outputs.append(own.output(state))
    found = torch.stack(outputs)

    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        state, last[0] if cell is GRULayer else torch.cat(last, dim=-1)[0], rtol=0, atol=1e-12
    )
    for result in (found, expected):
        result.square().sum().backward()
    for theirs, name in PARAMETERS.items():
        torch.testing.assert_close(
            own.get_parameter(name).grad, getattr(torchs, theirs).grad, rtol=0, atol=1e-12
        )
