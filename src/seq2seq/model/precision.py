"""Number formats of an operation: products in one, states and softmax in another."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Precision:
    """Formats of one pass.

    Attributes:
        product: of the operands of matrix products: autocast's type where it is on.
        state: of states, gates and attention weights: float32 at least.
    """

    product: torch.dtype
    state: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> "Precision":
        """What the tensor's type and the surrounding autocast ask for."""
        state = torch.promote_types(tensor.dtype, torch.float32)
        kind = tensor.device.type
        mixed = torch.is_autocast_enabled(kind) and state is torch.float32
        return cls(torch.get_autocast_dtype(kind) if mixed else state, state)

    @property
    def is_mixed(self) -> bool:
        """Whether there are two formats."""
        return self.product is not self.state


def at_least_float32(tensor: Tensor) -> Tensor:
    """The tensor itself, or in float32 where its type is a shorter one."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
