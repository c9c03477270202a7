"""Axes after functions that move, part or join tensors and compute nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from tensorboard_attention.capturing.axes import Axes, Axis, Family, Trail, better, child, size_of

VIEWS = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "ravel"}
"""Functions whose result has the same values in the same order."""
PERMUTING = {"transpose", "permute", "t", "T", "mT", "adjoint", "movedim", "moveaxis", "swapaxes", "swapdims"}
"""Functions that change the order of axes only."""
REPEATING = {"expand", "expand_as", "broadcast_to", "repeat", "tile"}
"""Functions that add axes in front."""
MOVING = VIEWS | PERMUTING | REPEATING | {"__getitem__", "narrow"}
"""Functions that compute nothing."""
PARTING = {"unbind", "select", "__iter__"}
"""Functions that take places of an axis."""

Selected = frozenset[tuple[Family, int]]


def moved(
    name: str, call: Callable[..., Any], first: Trail, args: Sequence[Any], kwargs: Mapping[str, Any], shape: torch.Size
) -> tuple[Axes, Selected]:  # fmt: skip
    """Return the axes of what a function makes of one tensor, and what it selects."""
    axes: Axes | None = None
    if name in VIEWS:
        axes = regrouped(first.axes, shape)
    elif name in PERMUTING:
        axes = tuple(first.axes[place] for place in _permutation(call, len(first.axes), args, kwargs))
    elif name == "__getitem__":
        return _indexed(first, args[1], len(shape))
    elif name in REPEATING:
        axes = (*((),) * (len(shape) - len(first.axes)), *first.axes)
    elif len(shape) == len(first.axes) - 1 and isinstance(dim_of(args, kwargs), int):
        dropped = dim_of(args, kwargs) % len(first.axes)
        axes = first.axes[:dropped] + first.axes[dropped + 1 :]
    return _padded(first.axes, len(shape)) if axes is None else axes, first.selected


def _padded(axes: Axes, number: int) -> Axes:
    return (*axes, *((),) * number)[:number]


def regrouped(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """Return the axes of a tensor whose values keep their order in another shape; None where they do not fit."""
    rest = [fragment for axis in axes for fragment in axis]
    found: list[Axis] = []
    shape = tuple(shape)
    for size in shape:
        axis = [rest.pop(0)] if size == 1 and rest and rest[0][1] == 1 else []
        left = size
        while left > 1:
            if not rest:
                return None
            family, most = rest.pop(0)
            if left % most == 0:
                axis.append((family, most))
                left //= most
            elif most % left == 0:
                axis.append((family, left))
                rest.insert(0, (family, most // left))
                left = 1
            else:
                return None
        while size > 1 and rest and rest[0][1] == 1 and shape[len(found) + 1 : len(found) + 2] != (1,):
            axis.append(rest.pop(0))
        found.append(tuple(axis))
    return tuple(found)


def _indexed(first: Trail, index: Any, number: int) -> tuple[Axes, Selected]:
    places = list(index) if isinstance(index, tuple) else [index]
    if not all(each is None or each is Ellipsis or type(each) in (int, slice) for each in places):
        return _padded(first.axes, number), first.selected
    used = sum(each is not None and each is not Ellipsis for each in places)
    if Ellipsis not in places:
        places.append(Ellipsis)
    middle = places.index(Ellipsis)
    places[middle : middle + 1] = [slice(None)] * (len(first.axes) - used)
    rest, axes, selected = list(first.axes), list[Axis](), set(first.selected)
    for each in places:
        axis: Axis = () if each is None else rest.pop(0)
        if type(each) is int:
            selected |= {(family, each % max(family.size, 1)) for family, _ in axis}
        else:
            axes.append(axis)
    return (*axes,), frozenset(selected)


def parted(
    name: str, first: Trail, args: Sequence[Any], kwargs: Mapping[str, Any], number: int
) -> Iterator[Trail]:
    """Yield the trails of the places of an axis."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 and name != "__iter__" else 0) % len(first.axes)
    index = kwargs.get("index", args[2] if len(args) > 2 else 0) if name == "select" else None
    axes = first.axes[:dim] + first.axes[dim + 1 :]
    for place in range(number):
        chosen = {(family, place if index is None else index) for family, _ in first.axes[dim]}
        yield Trail(axes, first.selected | chosen, first.is_parameter)


def joined(
    name: str, trails: Sequence[Trail], args: Sequence[Any], kwargs: Mapping[str, Any], shape: torch.Size
) -> Trail:
    """Return the trail of several tensors behind or upon each other."""
    dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else 0)) % len(shape)
    number = max(len(trail.axes) for trail in trails)  # an empty tensor may have fewer
    alike = [trail for trail in trails if len(trail.axes) == number]
    axes = list(alike[0].axes)
    for trail in alike[1:]:
        axes = [better(*pair) for pair in zip(axes, trail.axes, strict=True)]
    selected = frozenset[tuple[Family, int]]().union(*(trail.selected for trail in trails))
    whole = _chunked(trails)
    if name == "stack":
        return Trail((*axes[:dim], whole, *axes[dim:]), selected)
    used = [trail.axes[dim] for trail in alike if size_of(trail.axes[dim])]
    if whole and size_of(whole) * size_of(axes[dim]) == shape[dim]:
        axes[dim] = (*whole, *axes[dim])
    else:
        axes[dim] = used[0] if len(used) == 1 else child(shape[dim], used)
    return Trail(tuple(axes), selected)


def _chunked(trails: Sequence[Trail]) -> Axis:
    """Return what the number of tensors is a part of, if they are the chunks of one; else nothing."""
    for axes in zip(*(trail.axes for trail in trails), strict=False):
        families = [axis[0][0] for axis in axes if len(axis) == 1]
        if len({*families}) == len(trails) > 1 and len({each.parents for each in families}) == 1:
            parents = families[0].parents
            if len(parents) == 1 and parents[0].size == sum(each.size for each in families):
                return ((parents[0], len(trails)),)
    return ()


def dim_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the dimension that a function is called with."""
    dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
    return dim[0] if isinstance(dim, tuple | list) and len(dim) == 1 else dim


def _permutation(
    call: Callable[..., Any], num_dimensions: int, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[int]:
    """Return the order in which a function puts axes, which a tensor of axes of different sizes shows."""
    shown = call(
        torch.empty([2 + place for place in range(num_dimensions)], device="meta"), *args[1:], **kwargs
    )
    return [size - 2 for size in shown.shape]
