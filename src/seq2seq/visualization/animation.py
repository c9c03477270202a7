"""A GIF of attention as it forms."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from seq2seq.visualization.heatmap import AttentionFigure


def write_gif(path: str | Path, records: Mapping[int, Any], *, seconds: float = 0.3) -> None:
    """Write what was recorded of a sentence, a picture a step; the last one stays for two seconds.

    Args:
        path: Ends in .gif.
        records: By step, with `source`, `target` and `mean()`, the weights (target, source).
        seconds: For which a picture is shown.
    """
    figure = AttentionFigure()
    most = max(records.values(), key=lambda record: len(record.target))
    pictures = []
    for step, record in records.items():
        figure.draw(record.mean(), record.source, record.target, title=f"step {step:,}", whole=True)
        figure.figure.set_size_inches(1.2 + 0.22 * len(most.source), 1.4 + 0.22 * len(most.target))
        pictures.append(Image.fromarray(figure.pixels()).quantize(64))
    times = [round(1000 * seconds)] * (len(pictures) - 1) + [2000]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=times, loop=0)
