import pytest
import torch
from torch import nn

from seq2seq.decoding.packed import packed


@pytest.mark.parametrize("num_rows", [1, 5, 128, 300])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
def test_a_packed_layer_gives_what_the_layer_gives_to_the_bit(num_rows, bias):
    layer = nn.Linear(24, 70, bias=bias)
    inputs = torch.randn(num_rows, 24)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found, expected = packed(layer, 128)(inputs), layer(inputs)
    assert found.dtype is expected.dtype is torch.bfloat16
    assert torch.equal(found, expected)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_without_shorter_products_a_layer_stays_itself(kind):
    layer = nn.Linear(24, 70, dtype=kind)
    assert packed(layer, 128) is layer


def test_a_torch_without_the_operation_multiplies_with_the_layer_itself(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    layer = nn.Linear(24, 70)
    with torch.autocast("cpu", torch.bfloat16):
        assert packed(layer, 128) is layer
