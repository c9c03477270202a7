"""Labels of the axes of what was captured, and its records."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensorboard_attention.capturing.axes import Family
from tensorboard_attention.capturing.interception import Ids
from tensorboard_attention.capturing.layers import Captured, Layer
from tensorboard_attention.record import MAX_MAPS, MAX_TOKENS, MAX_WEIGHTS
from tensorboard_attention.writer import add_attention

LOST = 1e-3
"""How much of a row of weights may be on positions that have no token."""

Names = str | Sequence[str]
Tokens = Sequence[str] | Sequence[Sequence[str]] | None
Lists = list[list[str]]
"""Of each sentence, its tokens."""


class Sides:
    """Labels of sequences, which are known by where their positions come from.

    Args:
        given: Lists of tokens of source and target, or None.
        ids: Of all sequences that the model read.
        tokenizer: Which says what they are; None: nobody does.
        layers: Cross-attention of which tells source and target apart.
    """

    def __init__(
        self, given: Mapping[str, Lists | None], ids: Sequence[Ids], tokenizer: Any, layers: Sequence[Layer]
    ) -> None:
        self.given = {side: lists for side, lists in given.items() if lists}
        self.ids, self.tokenizer = ids, tokenizer
        self.cross = [layer for layer in layers if layer.is_cross and layer.rows]

    def of_rows(self, layer: Layer) -> tuple[str, Lists | None]:
        """Return the side of the rows of a layer, and its tokens."""
        return self._of(layer.rows, "target" if layer.is_cross else self._side(layer))

    def of_columns(self, layer: Layer) -> tuple[str, Lists | None]:
        """Return the side of the columns of a layer, and its tokens."""
        return self._of(layer.columns, "source" if layer.is_cross else self._side(layer))

    def _side(self, layer: Layer) -> str:
        """Return which side the only sequence of a layer is; "" where it cannot be told.

        Rows of cross-attention are of the target, its columns of the source; without any, the only side that is given.
        """
        if any(layer.columns & each.rows for each in self.cross):
            return "target"
        if any(layer.columns & each.columns for each in self.cross):
            return "source"
        if len(self.given) < 2:
            return next(iter(self.given), "source")
        exact = [name for name, lists in self.given.items() if max(map(len, lists)) == layer.weights.size(-1)]
        return exact[0] if len(exact) == 1 else ""

    def _of(self, roots: frozenset[Family], side: str) -> tuple[str, Lists | None]:
        if side in self.given:
            return side, self.given[side]
        read = [each.ids for each in self.ids if each.roots & roots]
        return side, _converted(
            self.tokenizer, _joined(read)
        ) if self.tokenizer is not None and read else None


def lists_of(side: str, tokens: Tokens) -> Lists | None:
    """Return the tokens of each sentence.

    Raises:
        ValueError: They are text.
    """
    if tokens is None:
        return None
    are_tokens = [isinstance(each, str) for each in tokens]
    if isinstance(tokens, str) or (any(are_tokens) and not all(are_tokens)):
        raise ValueError(
            f"{side}_tokens must be a list of tokens, or one for each sentence, got {tokens!r:.80}"
        )
    lists = [tokens] if all(are_tokens) else tokens
    return [[str(token) for token in each] for each in lists]


def _joined(ids: list[Tensor]) -> Tensor:
    """Return the ids of all calls: the first, of one that reads all; or all, of one that reads them one after the other."""
    if {each.size(1) for each in ids[1:]} == {1}:
        return torch.cat(ids, dim=1)
    return max(ids, key=lambda each: each.size(1))


def _converted(tokenizer: Any, ids: Tensor) -> list[list[str]]:
    """Return the tokens of each sentence, without padding at its end."""
    sentences = []
    for row in ids.tolist():
        tokens = [str(token) for token in tokenizer.convert_ids_to_tokens(row)]
        while len(tokens) > 1 and tokens[-1] == tokenizer.pad_token:
            tokens.pop()
        sentences.append(tokens)
    return sentences


def write(
    captured: Captured,
    writer: Any,
    step: int,
    sides: Sides,
    tag: Names,
    most: int,
    effect: Callable[[int, np.ndarray], Any] | None,
) -> None:
    """Write what was captured, as `capture` says."""
    kinds = captured.kinds()
    for kind, layers in kinds.items():
        tested = effect if layers[0].is_cross or len(kinds) == 1 else None
        shape = layers[0].weights.shape
        names = [layer.module for layer in layers]
        effects = [layer.effects for layer in layers if layer.effects is not None] or None
        rows, columns = _labels(layers[0], sides, captured.problems, kind)
        numbers = sorted({len(side) for side in (rows, columns) if side})
        count = min(most, shape[0], *numbers)
        for number in numbers:
            if not min(most, shape[0]) <= number <= shape[0]:
                captured.problems.append(
                    f"{kind}: there are tokens of {number} sentences, and the batch has {shape[0]}: {count} recorded"
                )
        is_one = len(layers[0].weights) == 1
        tags = [tag if is_one else f"{tag} {n + 1}" for n in range(count)] if isinstance(tag, str) else tag
        maps = torch.stack([layer.weights[:count] for layer in layers], dim=1).cpu().numpy()
        if len(tags) < count:
            captured.problems.append(
                f"{kind} of {count - len(tags)} sentences is not recorded: no name for them in tag={tags}"
            )
        for place, name in zip(range(count), tags, strict=False):
            target, source = (side[place] if side else None for side in (rows, columns))
            target, said = _last(target, layers[0])
            cut = _cut(maps[place], target, source, captured.problems, kind)
            try:
                cut, layer_names, lost = _fitting(cut, names)
                captured.problems += [f"{kind} is {each}" for each in lost]
                add_attention(
                    writer, name, cut, source, target, step, kind=kind, layer_names=layer_names, marks=[*said, *lost],
                    effect=None if tested is None else partial(tested, place), head_effects=effects if cut.ndim == 4 else None,
                )  # fmt: skip
            except ValueError as error:
                captured.problems.append(f"{kind} of {name} is not recorded: {error}")


def _labels(layer: Layer, sides: Sides, problems: list[str], kind: str) -> tuple[Lists | None, Lists | None]:
    """Return the tokens of rows and columns; None where an axis has no labels."""

    def fitting(found: tuple[str, Lists | None], size: int) -> Lists | None:
        side, lists = found
        if lists and max(map(len, lists)) > size:
            problems.append(
                f"{kind} has no {side} labels: {max(map(len, lists))} tokens for {size} positions"
            )
            return None
        if not side:
            problems.append(f"{kind} has no labels: it cannot be told whether it is of source or target")
        return lists

    num_rows, num_columns = layer.first + layer.weights.size(-2), layer.weights.size(-1)
    columns = fitting(sides.of_columns(layer), num_columns)
    if layer.is_cross:
        return fitting(sides.of_rows(layer), num_rows), columns
    return (columns if num_rows == num_columns else None), columns  # other rows are of something else


def _last(target: list[str] | None, layer: Layer) -> tuple[list[str] | None, list[str]]:
    """Return the tokens of the rows of a layer, and what is said of the others on the page."""
    if not layer.first:
        return target, []
    number = layer.first + layer.weights.size(-2)
    said = f"rows {layer.first + 1:,} to {number:,} of {number:,}: a record holds no more of so long a text"
    return None if target is None else target[layer.first :], [said]


def _cut(
    maps: np.ndarray, target: list[str] | None, source: list[str] | None, problems: list[str], kind: str
) -> np.ndarray:
    """Return weights without padding at the end; what is attended to there is a problem."""
    rows, columns = len(target) if target else maps.shape[-2], len(source) if source else maps.shape[-1]
    if maps[..., :rows, columns:].sum(axis=-1).max(initial=0) > LOST:
        problems.append(
            f"{kind}: {columns} tokens for {maps.shape[-1]} positions, and the others are attended to"
        )
    return maps[..., :rows, :columns]


def _fitting(maps: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[str] | None, list[str]]:
    """Return weights (layers, heads, T, S) as a record holds them, and what is said: of all heads, of the mean of each layer, or of all."""
    if max(maps.shape[-2:]) > MAX_TOKENS:
        raise ValueError(f"{maps.shape[-2]} by {maps.shape[-1]} positions: a record has at most {MAX_TOKENS}")
    size = maps.shape[-2] * maps.shape[-1]
    if maps.size <= MAX_WEIGHTS and maps.shape[0] * maps.shape[1] <= MAX_MAPS:
        return maps, names, []
    if len(maps) * size <= MAX_WEIGHTS:
        said = "too large for a record: of each layer the mean of its heads is recorded"
        return maps.mean(axis=1, keepdims=True), names, [said]
    said = "too large for a record: the mean of all layers and heads is recorded"
    return maps.mean(axis=(0, 1)), None, [said]
