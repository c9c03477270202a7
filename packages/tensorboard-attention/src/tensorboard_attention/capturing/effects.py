"""What a loss gains when the largest weight of each row of a head is removed, and the row renormalized: one run of the model a head."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from tensorboard_attention.capturing.axes import Question
from tensorboard_attention.capturing.exact import FLEX, MULTI_HEAD
from tensorboard_attention.capturing.interception import Watcher
from tensorboard_attention.capturing.layers import Layer


def effects_of_heads(model: nn.Module, loss: Callable[[], Any], layers: list[Layer]) -> list[str]:
    """Set the effects of all heads of layers, and return what is said of layers that have none.

    Args:
        model: In the state in which it is captured.
        loss: Runs the model once and returns a number.
        layers: In the order in which they ran.
    """
    problems = []
    before = float(loss())
    seen: Counter[tuple[str, bool]] = Counter()
    for layer in layers:
        place = seen[layer.module, layer.is_cross]
        seen[layer.module, layer.is_cross] += 1
        try:
            if layer.first:
                raise ValueError("only the last rows of a long text are kept")
            found = []
            for head in range(layer.weights.size(1)):
                removal = Removal(layer, place, head)
                with removal.watching(model):
                    found.append(float(loss()) - before)
                removal.require_done()
            layer.effects = tuple(found)
        except ValueError as error:
            problems.append(f"{layer.module or 'the model'} has no effects of heads: {error}")
    return problems


class Removal(Watcher):
    """Changes one head of one call of a module while a model runs.

    Args:
        layer: What is changed.
        place: Of the calls of its module, the number of the one that is changed.
        head: Of the layer.
    """

    def __init__(self, layer: Layer, place: int, head: int) -> None:
        super().__init__({})
        self.layer, self.place, self.head = layer, place, head
        self.counts: Counter[tuple[str, bool]] = Counter()
        self.changed: Tensor | None = None
        self.num_changed = 0

    def require_done(self) -> None:
        """Raise an error unless exactly one call was changed.

        Raises:
            ValueError: None was, or several.
        """
        if self.num_changed != 1:
            raise ValueError(
                "the model runs otherwise for the loss than when it was captured, or its layers are rows of many calls"
            )

    def _keep(self, path: str, answer: Question, first: int = 0) -> None:
        key = path, not (answer.rows & answer.columns)
        number = self.counts[key]
        self.counts[key] += 1
        is_head = (*key, number) == (self.layer.module, self.layer.is_cross, self.place)
        if not is_head or answer.weights.shape != self.layer.weights.shape:
            return
        weights = answer.weights.clone()
        weights[:, self.head] = without_largest(weights[:, self.head])
        self.changed = answer.back(weights)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:  # fmt: skip
        """Compute a function; again, with the changed weights, where it multiplies those of the head with values."""
        held = {id(each) for each in args if isinstance(each, Tensor) and self.follower.of(each).weights is not None}  # fmt: skip
        output = super().__torch_function__(func, types, args, kwargs)
        if self.changed is None or output is None:
            return output
        changed, self.changed = self.changed, None
        again = self._again(func, args, kwargs or {}, changed, held)
        self.num_changed += 1
        return again

    def _again(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], changed: Tensor, held: set[int]
    ) -> Any:  # fmt: skip
        if func is F.scaled_dot_product_attention:
            return _of_weights(changed, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return _of_weights_of_module(changed, args, kwargs)
        if func is FLEX:
            raise ValueError(
                "it is FlexAttention, for which effects are not computed: choose attn_implementation='sdpa'"
            )
        given = [each for each in args if id(each) in held]
        if len(given) != 1 or given[0].shape != changed.shape:
            raise ValueError("its weights are multiplied with values otherwise than by a product of matrices")
        return func(*(changed.to(each.dtype) if each is given[0] else each for each in args), **kwargs)


def without_largest(weights: Tensor) -> Tensor:
    """Return weights (…, S) whose largest of each row is 0, and the others have its sum; a row of one weight stays."""
    places = weights.argmax(dim=-1, keepdim=True)
    rest = weights.scatter(-1, places, 0)
    left, whole = rest.sum(dim=-1, keepdim=True), weights.sum(dim=-1, keepdim=True)
    return torch.where(left > 0, rest * (whole / left.clamp_min(torch.finfo(rest.dtype).tiny)), weights)


def _of_weights(
    weights: Tensor, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    """Return what `F.scaled_dot_product_attention` returns, of weights."""
    if kwargs.get("enable_gqa"):
        value = value.repeat_interleave(weights.size(-3) // value.size(-3), dim=-3)
    return weights.to(value.dtype) @ value


def _of_weights_of_module(weights: Tensor, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, None]:  # fmt: skip
    """Return what `F.multi_head_attention_forward` returns, of weights.

    Raises:
        ValueError: It adds keys, or has projections that are not known.
    """
    call = MULTI_HEAD.bind(*args, **kwargs)
    call.apply_defaults()
    given = call.arguments
    if given["bias_k"] is not None or given["add_zero_attn"] or given["static_v"] is not None:
        raise ValueError("it adds keys and values of its own")
    value, bias = given["value"], given["in_proj_bias"]
    size = given["embed_dim_to_check"]
    matrix = given["v_proj_weight"] if given["use_separate_proj_weight"] else given["in_proj_weight"][-size:]
    value = F.linear(value, matrix, None if bias is None else bias[-size:])
    is_batch = value.dim() == 3
    value = (value if is_batch else value[:, None]).unflatten(2, (given["num_heads"], -1))
    context = torch.einsum("bhts,sbhd->tbhd", weights.to(value.dtype), value).flatten(2)
    output = F.linear(context, given["out_proj_weight"], given["out_proj_bias"])
    return (output if is_batch else output[:, 0]), None
