"""Linear layers of a decoder in 8-bit integers, several times as fast on a CPU (dynamic quantization).

Weights are rounded to 8 bits with one scale per output when a model is loaded, those of `seq2seq.models.int8` exactly. The
inputs of a product are rounded with one scale when it is computed. Sums are exact integers; results are float32.

Some kernels add pairs of products in 16 bits, which overflow, on CPUs without the instructions for 8 bits (VNNI). So
each kernel computes products of extreme integers first, and only one that is exact is used: `exact_kernel`.
"""

import warnings
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.common.errors import InputError
from seq2seq.models.seq2seq import Seq2Seq


class Kernel(NamedTuple):
    """A way to compute products: an engine of PyTorch, and the number of steps of the integers that inputs are rounded to."""

    engine: str
    steps: int = 255

    def pack(self, weight: Tensor, scales: Tensor, bias: Tensor | None) -> Any:
        """Round a weight (O, I) with a scale for each output (O,), for `product`."""
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings():  # PyTorch will move quantization to the package torchao
            warnings.filterwarnings("ignore", message="torch.quantize_per", category=UserWarning)
            rounded = torch.quantize_per_channel(weight, scales.double(), zeros, 0, torch.qint8)
        backend, engine = torch.backends.quantized, torch.backends.quantized.engine
        try:
            backend.engine = self.engine
            return torch.ops.quantized.linear_prepack(rounded, bias)
        finally:
            backend.engine = engine

    def product(self, inputs: Tensor, packed: Any) -> Tensor:
        """Return inputs (…, I) times a packed weight, and its bias, (…, O)."""
        return torch.ops.quantized.linear_dynamic(inputs, packed, reduce_range=self.steps == 127)


KERNELS = (Kernel("onednn"), Kernel("fbgemm", 127), Kernel("onednn", 127), Kernel("qnnpack"))
"""The fastest first. Inputs of 7 bits leave space in 16 bits for the sum of two products."""


@cache
def exact_kernel() -> Kernel:
    """Return the first of `KERNELS` whose products of integers are exact on this CPU.

    Raises:
        InputError: None is.
    """
    for kernel in KERNELS:
        if kernel.engine in torch.backends.quantized.supported_engines and is_exact(kernel):
            return kernel
    raise InputError("products of 8-bit integers are not exact on this CPU: choose precision fp32 or bf16")


def is_exact(kernel: Kernel) -> bool:
    """Return whether products of extreme integers are exact; sums stay below 2^24, so float32 has no error."""
    generator = torch.Generator().manual_seed(0)
    for rows, inputs_size in ((1, 7), (3, 66), (40, 512)):
        inputs = torch.randint(0, 2, (rows, inputs_size), generator=generator) * kernel.steps
        inputs[0] = kernel.steps
        weight = torch.randint(0, 2, (40, inputs_size), generator=generator) * 254 - 127
        weight[0], weight[1] = 127, -127
        found = kernel.product(inputs.float(), kernel.pack(weight.float(), torch.ones(len(weight)), None))
        if not torch.allclose(found, (inputs @ weight.T).float(), rtol=1e-5, atol=1e-5):
            return False
    return True


class Int8Linear(nn.Linear):
    """A linear layer with 8-bit products. It keeps the weight of the original layer as an attribute.

    Raises:
        InputError: No kernel is exact on this CPU.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias
        weight = layer.weight.detach().float()
        scales = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        bias = None if layer.bias is None else layer.bias.detach().float()
        self.kernel = exact_kernel()
        self._packed = self.kernel.pack(weight, scales, bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs (…, out_features) in float32."""
        return self.kernel.product(inputs.float(), self._packed)


def quantized(model: Seq2Seq) -> Seq2Seq:
    """Return a copy of a model on the CPU whose decoder has `Int8Linear` in place of `nn.Linear`.

    Raises:
        InputError: No kernel is exact on this CPU.
    """
    model = deepcopy(model)
    for module in list(model.decoder.modules()):
        for name, layer in list(module.named_children()):
            if type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter):
                setattr(module, name, Int8Linear(layer))
    return model
