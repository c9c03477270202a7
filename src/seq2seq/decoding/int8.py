"""Linear layers of a decoder in 8-bit integers, several times as fast on a CPU (dynamic quantization).

Weights are rounded to 8 bits with one scale per output when a model is loaded. The inputs of a product are rounded with
one scale when it is computed. Sums are exact integers; results are float32.
"""

import warnings
from copy import deepcopy

import torch
from torch import Tensor, nn

from seq2seq.models.seq2seq import Seq2Seq


class Int8Linear(nn.Linear):
    """A linear layer with 8-bit products. It keeps the weight of the original layer as an attribute."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias
        weight = layer.weight.detach().float()
        scales = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).double()
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings():  # PyTorch will move quantization to the package torchao
            warnings.filterwarnings("ignore", message="torch.quantize_per", category=UserWarning)
            rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        backend, engine = torch.backends.quantized, torch.backends.quantized.engine
        try:
            if "onednn" in backend.supported_engines:
                backend.engine = "onednn"
            bias = None if layer.bias is None else layer.bias.detach().float()
            self._packed = torch.ops.quantized.linear_prepack(rounded, bias)
        finally:
            backend.engine = engine

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs (…, out_features) in float32."""
        return torch.ops.quantized.linear_dynamic(inputs.float(), self._packed)


def quantized(model: Seq2Seq) -> Seq2Seq:
    """Return a copy of a model on the CPU whose decoder has `Int8Linear` in place of `nn.Linear`."""
    model = deepcopy(model)
    for module in list(model.decoder.modules()):
        for name, layer in list(module.named_children()):
            if type(layer) is nn.Linear:
                setattr(module, name, Int8Linear(layer))
    return model
