"""The one question of capturing: is the result of this softmax multiplied with values?

`Follower` follows axes through the functions that a model calls. A softmax makes a family of its own, that of what is attended to; where a product
sums over it, its operand holds attention weights. A softmax over features of a layer, such as classes or channels, is none.

Of functions that it does not know, it is assumed that they keep axes of the same size in their places.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from tensorboard_attention.capturing.axes import (
    Axes,
    Axis,
    ChannelsError,
    Family,
    Question,
    Trail,
    ancestors,
    arranged,
    better,
    child,
    is_of_features,
    refuse_channels,
    roots_of,
    size_of,
)
from tensorboard_attention.capturing.moves import MOVING, PARTING, dim_of, joined, moved, parted

PRODUCTS = {"matmul": 0, "__matmul__": 0, "bmm": 0, "mm": 0, "mv": 0, "baddbmm": 1, "addmm": 1, "addmv": 1}
"""Products of matrices, and which of their arguments is the first factor."""
SOFTMAX = {"softmax", "special_softmax"}


@dataclass
class Follower:
    """Follows axes through the functions that a model calls.

    Args:
        found: Is given a `Question` for each product of weights with values, or why there is none.
    """

    found: Callable[[Question | ChannelsError], None]
    trails: dict[int, tuple[weakref.ref[Tensor], Trail]] = field(default_factory=dict)

    def give(self, tensors: Iterable[Tensor]) -> None:
        """Note what a model is called with; two views of the same values have the same axes, two parts of a tensor have not."""
        views: dict[Any, Trail] = {}
        for tensor in tensors:
            key = tensor.data_ptr(), tensor.shape, tensor.stride()
            held = self._held(tensor)
            if key in views:
                self._hold(tensor, views[key])
            elif held is not None and not any(family.is_given for axis in held.axes for family, _ in axis):
                del self.trails[id(tensor)]  # made outside of the model, such as a part of a batch
            views[key] = self.of(tensor, is_given=True)

    def _held(self, tensor: Tensor) -> Trail | None:
        held = self.trails.get(id(tensor))
        return held[1] if held is not None and held[0]() is tensor else None

    def of(self, tensor: Tensor, *, is_given: bool = False) -> Trail:
        """Return what is known of a tensor; nothing: each axis is a family of its own."""
        if (held := self._held(tensor)) is not None:
            return held
        axes = tuple(child(size, (), is_given=is_given) for size in tensor.shape)
        return self._hold(tensor, Trail(axes, is_parameter=isinstance(tensor, nn.Parameter)))

    def _hold(self, tensor: Tensor, trail: Trail) -> Trail:
        key = id(tensor)
        self.trails[key] = weakref.ref(tensor, lambda _: self.trails.pop(key, None)), trail
        return trail

    def follow(self, name: str, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], output: Any) -> None:  # fmt: skip
        """Note what a function has made."""
        tensors = list(tensors_in((args, kwargs)))
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            self._write(name, args, tensors)
            return
        outputs = list(tensors_in((output,)))
        if not tensors or not outputs or outputs[0] is tensors[0]:
            return
        if name in SOFTMAX:
            self._softmax(tensors[0], args, kwargs, output)
            return
        for trail, each in zip(self._made(name, call, args, kwargs, tensors, outputs), outputs, strict=False):
            is_fitting = len(trail.axes) == each.dim()
            axes = tuple(
                axis if size_of(axis) == size else child(size, [axis])
                for axis, size in zip(trail.axes, each.shape, strict=is_fitting)
            )
            self._hold(each, replace(trail, axes=axes) if is_fitting else Trail(self.of(each).axes))

    def _made(
        self,
        name: str,
        call: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        tensors: list[Tensor],
        outputs: list[Tensor],
    ) -> Iterator[Trail]:
        """Yield the trail of each result."""
        first, shape = self.of(tensors[0]), outputs[0].shape
        if name in PRODUCTS:
            yield self._product(tensors[PRODUCTS[name] :][:2])
        elif name == "einsum" and isinstance(args[0], str):
            yield self._einsum(args[0], tensors)
        elif name == "linear":
            self.contract(first.axes[-1])
            yield Trail((*first.axes[:-1], child(shape[-1], (), is_feature=True)), first.selected)
        elif name == "embedding":
            yield Trail((*first.axes, child(shape[-1], (), is_feature=True)), first.selected)
        elif name.startswith("conv") and len(shape) == len(first.axes) and len(shape) > 2:
            feature = child(shape[1], (), is_feature=True)
            yield Trail((first.axes[0], feature, *first.axes[2:]), first.selected)
        elif name == "scaled_dot_product_attention":
            yield Trail((*first.axes[:-1], self.of(tensors[2]).axes[-1]), first.selected)
        elif name in ("cat", "concat", "concatenate", "stack"):
            yield joined(name, [self.of(each) for each in tensors], args, kwargs, shape)
        elif name in PARTING and not isinstance(args[0], tuple | list):
            yield from parted(name, first, args, kwargs, len(outputs))
        elif len(tensors) > 1 and _is_broadcast(tensors, shape):
            yield self._merged(tensors, shape)
        else:
            if name == "sum":
                self._sum(first, args, kwargs)
            for each in outputs:
                yield self._of_one(name, call, tensors[0], args, kwargs, each.shape)

    def _of_one(
        self,
        name: str,
        call: Callable[..., Any],
        given: Tensor,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        shape: torch.Size,
    ) -> Trail:
        """Return the trail of the result of one tensor."""
        first, is_moved, weights = self.of(given), name in MOVING, None
        index = args[1] if name == "__getitem__" else None
        if isinstance(index, Tensor) and index.dtype not in (torch.bool, torch.uint8):  # as of an embedding
            return Trail(self.of(index).axes + first.axes[1:], first.selected)
        axes, selected = moved(name, call, first, args, kwargs, shape)
        if first.weights is not None and is_moved:
            weights = call(first.weights, *args[1:], **kwargs)
        elif shape == given.shape:
            weights = first.weights
        if weights is None or weights.shape != shape:
            return Trail(axes, selected, first.is_parameter and is_moved)
        return Trail(axes, selected, False, weights, first.columns, None if is_moved else first.values)

    def _merged(self, tensors: list[Tensor], shape: torch.Size) -> Trail:
        """Return the trail of what is computed number by number, of tensors that are broadcast."""
        tensors = sorted(tensors, key=lambda each: each.dtype == torch.bool)  # masks last
        trails = [self.of(each) for each in tensors]
        axes: Axes = ((),) * len(shape)
        for trail, tensor in zip(trails, tensors, strict=True):
            found = trail.axes
            if tensor.dtype == torch.bool:  # one place of a mask is no position
                found = tuple(axis if size_of(axis) > 1 else () for axis in found)
            other = (*((),) * (len(shape) - len(found)), *found)
            axes = tuple(better(*pair) for pair in zip(axes, other, strict=True))
        selected = frozenset[tuple[Family, int]]().union(*(trail.selected for trail in trails))
        held = [
            (trail, each) for trail, each in zip(trails, tensors, strict=True) if trail.weights is not None
        ]
        if len(held) != 1 or held[0][0].values is not None:
            return Trail(axes, selected)
        trail, tensor = held[0]
        weights: Any = trail.weights
        if tensor.shape == shape and not _is_expanded(weights):
            return replace(trail, axes=axes, selected=selected)
        others = [each.shape for each in tensors if each is not tensor]
        values = (
            *(1,) * (len(shape) - len(torch.broadcast_shapes(*others))),
            *torch.broadcast_shapes(*others),
        )
        weights = weights.reshape(*(1,) * (len(shape) - weights.dim()), *weights.shape)
        return Trail(axes, selected, False, weights, trail.columns, values)

    def _sum(self, first: Trail, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Ask about a sum over a product of weights and values, number by number."""
        dim = dim_of(args, kwargs)
        if first.values is None or first.weights is None or not isinstance(dim, int):
            return
        dim %= len(first.axes)
        weights, kept = first.weights, list[int]()
        for place, size in enumerate(first.values):
            is_one = weights.size(place) == 1 or weights.stride(place) == 0
            if place == dim or not is_one or size == 1:
                kept.append(place)
            else:
                weights = weights.narrow(place, 0, 1)
        weights = weights.reshape([weights.size(place) for place in kept])
        roles = [
            "columns" if place == dim else "rows" if first.values[place] == 1 else "shared" for place in kept
        ]
        axes = tuple(first.axes[place] for place in kept)
        if self._is_attended(first, first.axes[dim]):
            self.ask(weights, axes, roles, first)

    def _product(self, factors: list[Tensor]) -> Trail:
        """Return the trail of a product of matrices."""
        left, right = (each.dim() for each in factors)
        batch = [chr(ord("a") + place) for place in range(max(left, right) - 2)]
        first = [*batch[len(batch) - max(left - 2, 0) :], *"yz"[2 - min(left, 2) :]]
        second = [*batch[len(batch) - max(right - 2, 0) :], *"zx"[: min(right, 2)]]
        result = [*batch, *(["y"] if left > 1 else []), *(["x"] if right > 1 else [])]
        return self._multiplied(factors, [first, second], result)

    def _einsum(self, equation: str, tensors: list[Tensor]) -> Trail:
        given, arrow, result = equation.replace(" ", "").partition("->")
        terms, most = [], 0
        for term, tensor in zip(given.split(","), tensors, strict=True):
            number = tensor.dim() - len(term.replace("...", ""))
            most = max(most, number)
            terms.append(_letters(term, number))
        if not arrow:
            letters = [letter for term in terms for letter in term]
            once = sorted(letter for letter in {*letters} if letters.count(letter) == 1 and letter.isalpha())
            result = "..." + "".join(once)
        return self._multiplied(tensors, terms, _letters(result, most if "..." in result else 0))

    def _multiplied(self, tensors: list[Tensor], terms: list[list[str]], result: list[str]) -> Trail:
        """Return the trail of a sum of products, whose axes have letters, as those of `torch.einsum`; and ask about it."""
        trails = [self.of(each) for each in tensors]
        axes: dict[str, Axis] = {}
        for place, (trail, term) in enumerate(zip(trails, terms, strict=True)):
            for letter, axis in zip(term, trail.axes, strict=True):
                is_made = place > 0 and trail.is_parameter and letter in result and letter not in axes
                made = child(size_of(axis), (), is_feature=True) if is_made else axis
                axes[letter] = better(axes[letter], made) if letter in axes else made
        selected = frozenset[tuple[Family, int]]().union(*(trail.selected for trail in trails))
        has_asked = False
        for place, (trail, term) in enumerate(zip(trails, terms, strict=True)):
            others = {letter for n, each in enumerate(terms) if n != place for letter in each}
            summed = [letter for letter in term if letter not in result and letter in others]
            if trail.weights is None or trail.values is not None or len(summed) != 1:
                continue
            column = term.index(summed[0])
            if self._is_attended(trail, trail.axes[column]) and {*term} - {summed[0]} <= {*result}:
                roles = ["rows" if letter not in others else "shared" for letter in term]
                roles[column] = "columns"
                self.ask(trail.weights, trail.axes, roles, trail)
                has_asked = True
        if not has_asked:
            self.contract(*(axes[letter] for letter in axes.keys() - {*result}))
        return Trail(tuple(axes[letter] for letter in result), selected)

    @staticmethod
    def contract(*axes: Axis) -> None:
        """Note that a product sums over axes: then other parts of their families are heads."""
        for family, _ in (fragment for axis in axes for fragment in axis):
            for each in ancestors(family):
                each.is_contracted = True

    @staticmethod
    def _is_attended(trail: Trail, axis: Axis) -> bool:
        """Say whether an axis of weights is all of what the softmax was over, or a slice of it."""
        return trail.columns is not None and len(axis) == 1 and trail.columns in ancestors(axis[0][0])

    def ask(self, weights: Tensor, axes: Axes, roles: Sequence[str], trail: Trail) -> None:
        """Tell what weights are, by the roles of their axes."""
        try:
            refuse_channels(weights, axes, roles)
            self.found(arranged(weights, axes, roles, trail))
        except ChannelsError as error:
            self.found(error)

    # ---- Softmax, and what is changed in place

    def _softmax(
        self, scores: Tensor, args: Sequence[Any], kwargs: Mapping[str, Any], output: Tensor
    ) -> None:
        dim = dim_of(args, kwargs)
        dim = (0 if scores.dim() in (0, 1, 3) else 1) if dim is None else dim % max(scores.dim(), 1)
        trail = self.of(scores)
        if not trail.axes or any(map(is_of_features, trail.axes[dim])):
            self._hold(output, Trail(trail.axes, trail.selected))
            return
        ((columns, size),) = child(scores.size(dim), [trail.axes[dim]])
        axes = (*trail.axes[:dim], ((columns, size),), *trail.axes[dim + 1 :])
        number = torch.promote_types(output.dtype, torch.float32)
        weights = output.detach().to(number, copy=True)  # the model may change its own in place
        self._hold(output, Trail(axes, trail.selected, False, weights, columns))

    def _write(self, name: str, args: Sequence[Any], tensors: list[Tensor]) -> None:
        """Add where the positions of what is written come from to those of the tensor that is changed."""
        if len(tensors) < 2 or not isinstance(args[0], Tensor) or args[0].dim() == 0:
            return
        target, source = self.of(args[0]), self.of(tensors[-1])
        if target.weights is not None or name in ("masked_fill_", "mul_", "div_", "add_", "sub_"):
            return
        axes = list(target.axes)
        for place in range(1, min(len(axes), len(source.axes)) + 1):
            mine, other = axes[-place], source.axes[-place]
            if other and not roots_of(other) <= roots_of(mine):
                axes[-place] = child(args[0].size(-place), [mine, other])
        self._hold(args[0], replace(target, axes=tuple(axes)))


def _is_expanded(weights: Tensor) -> bool:
    return any(stride == 0 and size > 1 for stride, size in zip(weights.stride(), weights.shape, strict=True))


def _is_broadcast(tensors: list[Tensor], shape: torch.Size) -> bool:
    try:
        return torch.broadcast_shapes(*(each.shape for each in tensors)) == shape
    except RuntimeError:
        return False


def _letters(term: str, number: int) -> list[str]:
    """Return the letters of a term of an equation, and numbers for its ellipsis, counted from its end."""
    before, dots, after = term.partition("...")
    return [*before, *(str(place) for place in range(number, 0, -1) if dots), *after]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and mappings."""
    if isinstance(value, Tensor):
        if type(value) in (Tensor, nn.Parameter):
            yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each)
