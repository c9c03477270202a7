import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.decoding import int8
from seq2seq.decoding.int8 import KERNELS, Int8Linear, Kernel, exact_kernel, is_exact
from seq2seq.models.int8 import packed, unpacked


@pytest.fixture(autouse=True)
def chosen_again():
    exact_kernel.cache_clear()
    yield
    exact_kernel.cache_clear()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_product_differs_by_the_rounding_of_its_factors_alone(bias, kernel, monkeypatch):
    if kernel.engine not in torch.backends.quantized.supported_engines or not is_exact(kernel):
        pytest.skip("not exact on this machine")
    monkeypatch.setattr(int8, "KERNELS", (kernel,))
    torch.manual_seed(1)
    layer = torch.nn.Linear(48, 30, bias=bias)
    layer.weight.data *= torch.logspace(-3, 1, 30).unsqueeze(1)  # a scale for each output
    inputs = torch.randn(5, 7, 48)
    with torch.no_grad():
        exact, found = layer(inputs), Int8Linear(layer)(inputs)
        weight = layer.weight.abs()
        # half a step of 1/127 of a row's largest weight, and of 1/255 or 1/127 of the range of all inputs
        half_weight = weight.amax(dim=1) / 127 / 2
        half_input = (inputs.max() - inputs.min()) / kernel.steps / 2
        bound = inputs.abs().sum(dim=-1, keepdim=True) * half_weight + half_input * (
            weight.sum(dim=1) + 48 * half_weight
        )
    assert found.dtype == torch.float32
    assert ((found - exact).abs() <= 1.01 * bound + 1e-6).all()
    assert not torch.equal(found, exact)


def saturated(kernel, inputs, packed):
    """Products of whole numbers in which each sum of two neighbors has 16 bits, as on a CPU without VNNI."""
    weight, _ = torch.ops.quantized.linear_unpack(packed)
    products = inputs.unsqueeze(-2) * weight.int_repr()
    pairs = torch.nn.functional.pad(products, (0, products.shape[-1] % 2)).unflatten(-1, (-1, 2)).sum(-1)
    return pairs.clamp(-(2**15), 2**15 - 1).sum(-1)


def test_a_kernel_whose_sums_overflow_is_not_chosen(monkeypatch):
    monkeypatch.setattr(Kernel, "product", saturated)
    assert exact_kernel().steps == 127
    monkeypatch.setattr(int8, "KERNELS", (KERNELS[0],))
    exact_kernel.cache_clear()
    with pytest.raises(InputError, match="precision fp32 or bf16"):
        exact_kernel()


def test_weights_of_an_int8_file_are_multiplied_as_the_integers_of_the_file(monkeypatch):
    torch.manual_seed(1)
    layer = torch.nn.Linear(48, 30)
    layer.weight.data[3] = 0
    layer.weight.data[4, 7] = 9  # is clipped
    stored = packed("weight", layer.weight.data)
    layer.weight.data = unpacked("weight", stored)
    given = []
    monkeypatch.setattr(
        Kernel, "pack", lambda _, weight, scales, bias: given.append(weight / scales.unsqueeze(1))
    )
    monkeypatch.setattr(int8, "exact_kernel", lambda: KERNELS[0])
    Int8Linear(layer)
    torch.testing.assert_close(given[0], stored["weight"].float(), rtol=0, atol=1e-4)
