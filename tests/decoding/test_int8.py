import pytest
import torch

from seq2seq.decoding.int8 import Int8Linear


@pytest.mark.parametrize("bias", [True, False])
def test_a_product_differs_by_the_rounding_of_its_factors_alone(bias):
    torch.manual_seed(1)
    layer = torch.nn.Linear(48, 30, bias=bias)
    layer.weight.data *= torch.logspace(-3, 1, 30).unsqueeze(1)  # a scale for each output
    inputs = torch.randn(5, 7, 48)
    with torch.no_grad():
        exact, found = layer(inputs), Int8Linear(layer)(inputs)
        weight = layer.weight.abs()
        # half a step of 1/127 of a row's largest weight, and of 1/255 of the range of all inputs
        half_weight = weight.amax(dim=1) / 127 / 2
        half_input = (inputs.max() - inputs.min()) / 255 / 2
        bound = inputs.abs().sum(dim=-1, keepdim=True) * half_weight + half_input * (
            weight.sum(dim=1) + 48 * half_weight
        )
    assert found.dtype == torch.float32
    assert ((found - exact).abs() <= 1.01 * bound + 1e-6).all()
    assert not torch.equal(found, exact)
