"""A linear layer whose weight is laid out once for the many products of a search."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.precision import Precision


def packed(
    layer: nn.Linear, num_rows: int
) -> Callable[[Float[Tensor, "N R"]], Float[Tensor, "N V"]]:
    """The layer as a function of its input, without gradients; to the bit what the layer gives.

    oneDNN multiplies short formats in an order of its own, into which torch brings the weight at
    every call. Where that is so, and this torch has the operation that inductor packs with, it is
    done once here, in the type that autocast has now. Elsewhere it is the layer itself.

    Args:
        layer: on any device.
        num_rows: rows of the usual input.
    """
    product = Precision.of(layer.weight).product
    if product is not torch.bfloat16 or layer.weight.device.type != "cpu" or not _can_pack():
        return layer
    operations = torch.ops.mkldnn
    weight = operations._reorder_linear_weight(layer.weight.detach().to(product), num_rows)
    bias = None if layer.bias is None else layer.bias.detach().to(product)
    return lambda inputs: operations._linear_pointwise(
        inputs.to(product), weight, bias, "none", [], ""
    )


def _can_pack() -> bool:
    operations = torch.ops.mkldnn
    return (
        torch.backends.mkldnn.is_available()
        and hasattr(operations, "_linear_pointwise")
        and hasattr(operations, "_reorder_linear_weight")
        and bool(operations._is_mkldnn_bf16_supported())
    )
