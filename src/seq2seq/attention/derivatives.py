"""Custom operations that can be differentiated once say so when they are asked for more."""

import torch


def refuse_second_derivative(operation: str) -> None:
    """Call in a backward pass whose own operations must not be differentiated.

    (`torch.autograd.function.once_differentiable` stays silent where the incoming gradient does
    not need one itself, and the result is then a wrong second derivative.)

    Raises:
        RuntimeError: the backward pass runs with ``create_graph=True``.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"{operation} can be differentiated once only, not twice: it keeps too little for a "
            "second derivative, so do not use it with create_graph=True"
        )
