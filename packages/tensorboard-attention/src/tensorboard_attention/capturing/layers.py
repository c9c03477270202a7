"""From the calls of a module to layers: each call is a layer that shares it, or rows of one matrix, or a part that has no place."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from tensorboard_attention.capturing.axes import Family, Question
from tensorboard_attention.record import MAX_WEIGHTS


@dataclass(frozen=True)
class Call:
    """The attention of a call.

    Attributes:
        answer: What it attends to, and its weights.
        run: In which run of the model it was.
        first: The first row that is kept, see `last_rows`.
    """

    answer: Question
    run: int
    first: int = 0

    @property
    def weights(self) -> Tensor:
        """Weights (B, heads, T, S)."""
        return self.answer.weights


def last_rows(heads: int, rows: int, columns: int) -> int:
    """Return the first of the rows of weights that are kept: 0, or of a long text the last, as many as a record holds."""
    if rows * columns <= MAX_WEIGHTS:
        return 0
    return rows - max(1, MAX_WEIGHTS // (heads * columns))


@dataclass
class Calls:
    """The attention of all calls of a module.

    Attributes:
        is_cross: They attend to another sequence.
        all: The calls, in their order.
    """

    is_cross: bool
    all: list[Call] = field(default_factory=list)

    def rows(self) -> frozenset[Family]:
        """Return where the rows of all of them come from."""
        return frozenset().union(*(call.answer.rows for call in self.all))

    def columns(self) -> frozenset[Family]:
        """Return where the columns of all of them come from."""
        return frozenset().union(*(call.answer.columns for call in self.all))


def layers_of(calls: Sequence[Call], num_runs: int, num_sentences: int | None) -> list[Tensor]:
    """Return the weights (B, heads, T, S) of the layers that the calls of one module are.

    Args:
        calls: Of the module.
        num_runs: Of the model.
        num_sentences: Of the batch; None: unknown.

    Raises:
        ValueError: They are no layers.
    """
    weights = [call.weights for call in calls]
    if len(weights) == 1:
        return weights
    if num_runs < 2:
        _refuse_blocks(calls)
    if len({len(each) for each in weights}) > 1 or (
        num_sentences and len(weights[0]) > num_sentences and num_runs > 1
    ):
        raise ValueError(
            "the number of sentences in its batch is not that of tokens, or changes; beams cannot be told apart"
        )
    first = calls[0].answer
    if first.row_families and all(
        (call.answer.row_families, call.answer.selected, call.run)
        == (first.row_families, first.selected, calls[0].run)
        for call in calls
    ):
        return weights  # layers that share the module
    is_once = max(Counter(call.run for call in calls).values()) == 1
    is_of_one = all(one.answer.columns & other.answer.columns for one, other in itertools.pairwise(calls))
    if {each.size(2) for each in weights[1:]} == {1} and is_of_one and (is_once or num_runs < 2):
        return [_rows(weights)]
    rows = [each.size(2) for each in weights]
    if all(more == less + 1 for less, more in itertools.pairwise(rows)):  # all tokens so far, each time
        return weights[-1:]
    if num_runs > 1:
        if is_once and all(torch.equal(each, weights[0]) for each in weights):
            return weights[:1]  # of a source that is read each time
        raise ValueError(f"the model ran {num_runs} times: run it once, with all sentences in a batch")
    return weights  # of several sequences


def _refuse_blocks(calls: Sequence[Call]) -> None:
    """Refuse calls that have parts of the rows or of the sentences.

    Raises:
        ValueError: There are such.
    """
    for one, other in itertools.combinations((call.answer for call in calls), 2):
        if one.weights.size(2) == other.weights.size(2) == 1:
            continue  # rows of one matrix
        chosen = {family for family, _ in one.selected ^ other.selected}
        is_part = any(family.roots & one.rows for family in chosen) or one.row_families != other.row_families
        if one.rows & other.rows and is_part:
            raise ValueError(
                "it is computed in blocks, each of which has a part of the rows and columns: choose a configuration that computes "
                "whole matrices"
            )
        if chosen:
            raise ValueError(
                f"its weights {tuple(one.weights.shape)} are of one sentence after the other: compute them in a batch"
            )


def _rows(weights: Sequence[Tensor]) -> Tensor:
    """Return the rows of calls of one target token each; the first may have read a prompt.

    Raises:
        ValueError: Columns have other places in each row.
    """
    columns = [each.size(3) for each in weights]
    growth = {more - less for less, more in itertools.pairwise(columns)}
    has_room = (
        len({*columns[1:]}) == 1 and columns[0] + len(columns) - 1 <= columns[1]
    )  # for all, after a prompt
    if growth not in ({0}, {1}) and not has_room:
        raise ValueError(
            "keys are added to those before and then left out: in a window, columns have other places in each row"
        )
    return torch.cat([F.pad(each, (0, columns[-1] - each.size(3))) for each in weights], dim=2)


@dataclass
class Layer:
    """The attention of one layer.

    Attributes:
        module: Path of the module that computed it, such as ``decoder.layers.0.self_attn``.
        weights: (B, heads, T, S) in float32, or float64 of such models.
        is_cross: The keys come from elsewhere than the queries.
        rows: Where the positions of T come from.
        columns: Where those of S come from.
        first: The row of the sequence with which T begins: of a text of more than 2,048 tokens, only the last rows are kept.
        effects: Of each head, what the loss gains without the largest weight of each row; None: not asked for.
    """

    module: str
    weights: Tensor
    is_cross: bool
    rows: frozenset[Family] = field(default=frozenset(), repr=False)
    columns: frozenset[Family] = field(default=frozenset(), repr=False)
    first: int = 0
    effects: tuple[float, ...] | None = None


@dataclass
class Captured:
    """What `capture` has found, in the order in which the layers ran.

    `problems` says what could not be captured, and why.
    """

    layers: list[Layer] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def kinds(self) -> dict[str, list[Layer]]:
        """Return layers by kind, such as "encoder self-attention": layers whose paths differ in numbers only."""
        groups: dict[tuple[str, ...], list[Layer]] = {}
        for layer in self.layers:
            words = [part for part in layer.module.split(".") if part and not part.isdigit()]
            key = ("cross" if layer.is_cross else "self", *words)
            groups.setdefault((*key, str(tuple(layer.weights.shape))), []).append(layer)
        kinds: dict[str, list[Layer]] = {}
        owners: dict[str, list[str]] = {}
        for (role, *words, shape), layers in groups.items():
            rivals = [others for own, *others, _ in groups if own == role]
            name = f"{_distinguishing(words, rivals)} {role}-attention".strip()
            if owners.setdefault(name, words) != words:
                name = f"{'.'.join(words)} {role}-attention"
            kinds[name if name not in kinds else f"{name} {shape}"] = layers
        return kinds


def _distinguishing(words: Sequence[str], rivals: Sequence[Sequence[str]]) -> str:
    """Return the first word that only these words have in its place; all of them if there is none; "" without rivals."""
    others = [other for other in rivals if list(other) != list(words)]
    if not others:
        return ""
    alone = (
        word
        for place, word in enumerate(words)
        if all(word not in other[place : place + 1] for other in others)
    )
    return next(alone, ".".join(words))
