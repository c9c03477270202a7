import torch
from torch import nn

from seq2seq.model.layers import GRULayer


def test_a_layer_equals_torchs_cell():
    torch.manual_seed(0)
    layer, cell = GRULayer(5, 3).double(), nn.GRUCell(5, 3).double()
    cell.weight_ih.data, cell.bias_ih.data = (
        layer.input_gates.weight.data,
        layer.input_gates.bias.data,
    )
    cell.weight_hh.data, cell.bias_hh.data = (
        layer.state_gates.weight.data,
        layer.state_gates.bias.data,
    )
    inputs, state = torch.randn(4, 5).double(), torch.randn(4, 3).double()
    found = layer.advance(layer.inputs(inputs), state)
    torch.testing.assert_close(found, cell(inputs, state), rtol=0, atol=1e-12)
