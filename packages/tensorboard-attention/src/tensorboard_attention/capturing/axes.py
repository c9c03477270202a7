"""What the axes of a tensor are: sentences, heads, positions or features, by where they come from.

Each axis belongs to a `Family`: the axis as it came into being, in an input of the model, a parameter or the output of a layer. Where weights
are multiplied with values (`following`), the families say which axes are heads (parts of the output of a layer), rows (axes that
the values do not have) and sentences (axes that the values have, too).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from torch import Tensor


class Family:
    """An axis as it came into being.

    Args:
        size: Number of places.
        parents: Families that it is a slice, a pooling or a concatenation of.
        is_feature: A layer has made it.
        is_given: It is one of an input of the model.
    """

    def __init__(
        self, size: int, parents: Iterable["Family"] = (), *, is_feature: bool = False, is_given: bool = False
    ) -> None:
        self.size, self.parents = size, tuple(dict.fromkeys(parents))
        self.roots: frozenset[Family] = frozenset().union(
            *(each.roots for each in self.parents)
        ) or frozenset([self])
        has_features = bool(self.parents) and all(each.is_feature for each in self.parents)
        self.is_feature: bool = is_feature or has_features
        self.is_given: bool = is_given or any(each.is_given for each in self.parents)
        self.is_contracted = False  # a product has summed over a part of it


def ancestors(family: Family) -> Iterator[Family]:
    """Yield a family and all that it is made of."""
    yield family
    for parent in family.parents:
        yield from ancestors(parent)


Fragment = tuple[Family, int]
"""A family, or a part of it, and its size: ``view`` makes two axes of one."""
Axis = tuple[Fragment, ...]
Axes = tuple[Axis, ...]


def is_of_features(fragment: Fragment) -> bool:
    """Say whether a fragment is of features: a layer has made them, or a product sums over the rest of them, as over a head's."""
    family, size = fragment
    return size > 1 and (family.is_feature or (size < family.size and family.is_contracted))


def size_of(axis: Axis) -> int:
    """Return the number of places."""
    return prod(size for _, size in axis)


def roots_of(axis: Axis) -> frozenset[Family]:
    """Return where the positions of an axis come from, as far as it has any."""
    return frozenset().union(*(family.roots for family, _ in axis if not family.is_feature))


def child(size: int, axes: Iterable[Axis], **options: bool) -> Axis:
    """Return an axis that is made of others, such as a slice or a concatenation; of none: of unknown origin."""
    return ((Family(size, (family for axis in axes for family, _ in axis), **options), size),)


@dataclass(frozen=True)
class Trail:
    """What is known of a tensor.

    Attributes:
        axes: Of each dimension.
        selected: Families of which it has one place only, and that place.
        is_parameter: It is a parameter, or a view of one.
        weights: Attention weights, perhaps: what a softmax gave, in the shape of the tensor.
        columns: The family of what they attend to.
        values: The sizes of the other factor, if the tensor is a product of weights and it.
    """

    axes: Axes
    selected: frozenset[tuple[Family, int]] = frozenset()
    is_parameter: bool = False
    weights: Tensor | None = None
    columns: Family | None = None
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Question:
    """What a product says of weights.

    Attributes:
        weights: (B, heads, T, S).
        rows: Where the rows come from; none: a state without positions attends.
        row_families: The axes that are the rows.
        columns: Where the columns come from.
        selected: See `Trail`.
        num_sentences: The size of the batch; if there are more matrices, they are of parts of it, such as windows.
        back: Gives weights of this shape the one that they had in the model.
    """

    weights: Tensor
    rows: frozenset[Family]
    row_families: tuple[Family, ...]
    columns: frozenset[Family]
    selected: frozenset[tuple[Family, int]]
    num_sentences: int
    back: Callable[[Tensor], Tensor]


class ChannelsError(ValueError):
    """Rows of weights are features of a layer, not positions."""


def better(first: Axis, second: Axis) -> Axis:
    """Return what an axis of a result is, of those of two operands: not what is broadcast, and rather what the model is given."""
    if size_of(first) == 1 and (size_of(second) > 1 or not first):
        return second
    if size_of(second) == 1:
        return first
    is_given = [any(family.is_given for family, _ in axis) for axis in (first, second)]
    return second if is_given == [False, True] else first


def refuse_channels(weights: Tensor, axes: Axes, roles: Sequence[str]) -> None:
    """Refuse weights all of whose rows are features, as of linear attention.

    Raises:
        ChannelsError: It is so.
    """
    rows = [fragment for axis, role in zip(axes, roles, strict=True) if role == "rows" for fragment in axis]
    if rows and all(map(is_of_features, rows)):
        raise ChannelsError(
            f"the rows of its weights {tuple(weights.shape)} are features of a layer, not positions"
        )


def arranged(weights: Tensor, axes: Axes, roles: Sequence[str], trail: Trail) -> Question:
    """Return weights as (B, heads, T, S), by the roles of their axes: shared (with values), heads, rows or columns."""
    parts: list[tuple[str, Family | None, int]] = []
    for axis, role, size in zip(axes, roles, weights.shape, strict=True):
        if role == "columns" or size_of(axis) != size or not axis:
            parts.append((role, None, size))
        else:
            parts += [("heads" if is_of_features(each) else role, *each) for each in axis]
    shared = [place for place, (role, _, _) in enumerate(parts) if role == "shared"]
    has_heads = any(role == "heads" for role, _, _ in parts)
    if not has_heads and len(shared) == 2 and weights.dim() == 4:  # (B, heads, …), of unknown origin
        parts[shared[1]] = ("heads", *parts[shared[1]][1:])
    order = sorted(
        range(len(parts)), key=lambda place: ("shared", "heads", "rows", "columns").index(parts[place][0])
    )
    shape = [
        prod(size for role, _, size in parts if role == each)
        for each in ("shared", "heads", "rows", "columns")
    ]
    parted = weights.reshape([size for _, _, size in parts]).permute(order)
    inverse = [order.index(place) for place in range(len(order))]
    rows = tuple(family for role, family, _ in parts if role == "rows" and family is not None)
    sentences = [(family, size) for role, family, size in parts if role == "shared" and size > 1]
    whole = [size for family, size in sentences if family is None or size == family.size]
    column_axis = axes[roles.index("columns")]
    return Question(
        parted.reshape(shape),
        frozenset().union(*(family.roots for family in rows if not family.is_feature)),
        rows,
        roots_of(column_axis),
        trail.selected,
        whole[0] if whole else 1,
        lambda changed: changed.reshape(parted.shape).permute(inverse).reshape(weights.shape),
    )
