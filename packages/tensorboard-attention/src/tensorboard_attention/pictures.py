"""Attention heatmaps by matplotlib: rows are target tokens, columns source tokens, dark cells large weights.

Needs matplotlib, and for an animation Pillow, which it brings.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from PIL import Image

from tensorboard_attention.event_files import read_steps, recorded
from tensorboard_attention.figures import VERMILION, WEIGHTS, drawable, new_figure, styled

CELL = 0.22
"""Minimum size of a cell in inches, so that labels of 7 points fit."""
CARD = 3.5
"""Width in inches of a heatmap that is read in a small card, such as TensorBoard's, which is about 350 pixels wide."""
RISES = 0.02
"""Share of the maximum effect; a word that becomes more probable by more is gray."""
WHOLE = 0.5
"""A maximum weight below which the colors end there, not at 1."""
EVEN = 3
"""Times an even weight, 1 / S, below which the colors do not end, so that even weights are light."""


def short(token: str, most: int = 18) -> str:
    """Shorten a token, with a dot for SentencePiece's space; escape the dollar sign, which begins formulas in matplotlib."""
    token = token.replace("▁", "·")
    return (token if len(token) <= most else f"{token[: most - 1]}…").replace("$", r"\$")


def draw_matrix(
    axes: Any,
    weights: npt.ArrayLike,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    title: str = "",
    links: Sequence[tuple[int, int]] = (),
    points: float = 7,
    is_effect: bool = False,
    whole: bool = False,
) -> Any:
    """Draw one matrix of weights, or of effects, into axes.

    The colors run from 0 to 1, or to the maximum if it is below `WHOLE`, but not below `EVEN` times an even weight;
    the title names where. Those of effects run to their maximum, and effects below 0 are gray.

    Args:
        axes: Axes of matplotlib; they are cleared first.
        weights: Weights in 0..1 (target, source), or effects.
        source_tokens: Labels of the columns.
        target_tokens: Labels of the rows.
        title: Title above the matrix.
        links: Gold links (source index, target index), drawn as circles.
        points: Size of the labels.
        is_effect: They are of `tensorboard_attention.leave_one_out`, in nats.
        whole: Whether the colors of weights run to 1 in any case, as in the pictures of an animation.

    Returns:
        The image, for a color bar.

    Raises:
        ValueError: The shape does not fit the labels or is empty, or a weight is outside 0..1.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.shape != (len(target_tokens), len(source_tokens)) or not matrix.size:
        raise ValueError(
            f"weights of shape {matrix.shape} do not fit {len(target_tokens)} target and "
            f"{len(source_tokens)} source tokens; neither may be empty"
        )
    if not is_effect and not ((matrix >= -0.005) & (matrix <= 1.005)).all():
        raise ValueError(f"weights must lie in 0..1, got {matrix.min()} to {matrix.max()}")
    axes.clear()
    top = float(matrix.max())
    if is_effect:
        most = top if top > 0 else 1.0
    else:
        most = 1.0 if whole or not 0 < top < WHOLE else min(1.0, max(top, EVEN / len(source_tokens)))
    drawn = np.where((matrix < 0) & (matrix > -RISES * top), 0, matrix)
    image = axes.imshow(drawn, cmap=WEIGHTS, vmin=0, vmax=most, aspect="auto", interpolation="nearest")
    axes.xaxis.tick_top()
    for axis, tokens, turned in ((axes.xaxis, source_tokens, 90), (axes.yaxis, target_tokens, 0)):
        labels = [drawable(short(token)) for token in tokens]
        families = list(dict.fromkeys(family for _, found in labels for family in found))
        axis.set_ticks(range(len(tokens)), [text for text, _ in labels], rotation=turned, fontsize=points)
        axis.set_tick_params(labelfontfamily=families)
    for label in axes.get_xticklabels():
        if len(label.get_text()) == 1:  # a letter that lies looks like another sign
            label.set_rotation(0)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set(visible=True, linewidth=0.3)
    if links:
        columns, rows = zip(*links, strict=True)
        size = min(30, (140 / max(len(source_tokens), 1)) ** 2)
        axes.scatter(columns, rows, s=size, facecolors="none", edgecolors=VERMILION, linewidths=1)
    named = "gray: it rises" if is_effect else f"colors to {most:.2g}" if most < 1 else ""
    if title or named:
        text, families = drawable(", ".join(filter(None, [title.replace("$", r"\$"), named])))
        axes.set_title(text, fontsize=8, family=families)
    return image


class AttentionFigure:
    """A matplotlib figure that is reused for many heatmaps, which is faster than a new figure each time.

    All are `CARD` wide, so that labels have the same size in every card.

    Args:
        dpi: Pixels per inch; twice those of a card, for sharp screens.
    """

    def __init__(self, dpi: int = 200) -> None:
        with styled():
            self.figure = new_figure(CARD, CARD)
            self.figure.set_dpi(dpi)
            self.axes = self.figure.add_subplot()

    def draw(
        self,
        weights: npt.ArrayLike,
        source_tokens: Sequence[str],
        target_tokens: Sequence[str],
        **options: Any,
    ) -> Figure:
        """Draw weights as `draw_matrix` does, and return the figure; the next call reuses it."""
        pitch = min(0.3, 2.7 / max(len(source_tokens), len(target_tokens), 1))  # of the labels, in inches
        points = min(8.5, max(4, 72 * pitch))
        self.figure.set_size_inches(CARD, 0.95 + max(pitch, points / 72) * len(target_tokens))
        with styled():
            draw_matrix(self.axes, weights, source_tokens, target_tokens, points=points, **options)
        return self.figure

    def pixels(self) -> npt.NDArray[np.uint8]:
        """Return the drawn figure (height, width, 3)."""
        canvas: Any = self.figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


class Panel(NamedTuple):
    """What is drawn of a sentence; see `draw_matrix`."""

    title: str
    matrix: npt.ArrayLike
    source: Sequence[str]
    target: Sequence[str]
    is_effect: bool = False


def save_heatmap(path: str | Path, panels: Sequence[tuple[Any, ...]], *, dpi: int = 150) -> None:
    """Write heatmaps, one above the other, to a file; the suffix chooses the format.

    A panel is a `Panel`, or a tuple of its parts.

    Raises:
        ValueError: Another ending, or weights that do not fit, see `draw_matrix`.
    """
    drawn = [Panel(*panel) for panel in panels]
    heights = [1.4 + CELL * len(panel.target) for panel in drawn]
    width = max(1.6 + CELL * len(panel.source) for panel in drawn)
    with styled():
        figure = new_figure(max(width, 3), sum(heights))
        axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for each, (title, matrix, source, target, is_effect) in zip(axes, drawn, strict=True):
            image = draw_matrix(each, matrix, source, target, title=title, is_effect=is_effect)
            each.set_xlabel("source", fontsize=7)
            each.set_ylabel("target", fontsize=7)
            each.xaxis.set_label_position("top")
            bar = figure.colorbar(image, ax=each, shrink=0.6, aspect=15)
            bar.set_label("effect in nats" if is_effect else "weight", fontsize=7)
            bar.ax.tick_params(labelsize=6, length=2)
            bar.outline.set_linewidth(0.3)
        figure.savefig(path, dpi=dpi)


def draw_steps(run: Path, name: str, path: Path) -> tuple[int, int]:
    """Write what a run has recorded as `name`, see `write_gif`; return the numbers of its steps, drawn and in all.

    Raises:
        ValueError: There is no such record, or a file is damaged.
    """
    records, there = read_steps(run, name, most=200, most_bytes=1 << 19), len(recorded(run)[name].steps)
    write_gif(path, records)
    return len(records), there


def write_gif(path: str | Path, records: Mapping[int, Any]) -> None:
    """Write what was recorded of a sentence, a picture a step; the last one stays for two seconds.

    Records are by step, with `source`, `target` and `mean()`, the weights (target, source).
    """
    figure = AttentionFigure()
    most = max(records.values(), key=lambda record: len(record.target))
    pictures = []
    for step, record in records.items():
        figure.draw(record.mean(), record.source, record.target, title=f"step {step:,}", whole=True)
        figure.figure.set_size_inches(1.2 + 0.22 * len(most.source), 1.4 + 0.22 * len(most.target))
        pictures.append(Image.fromarray(figure.pixels()).quantize(64))
    times = [300] * (len(pictures) - 1) + [2000]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=times, loop=0)
