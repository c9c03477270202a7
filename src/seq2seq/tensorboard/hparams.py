"""The HParams tab of TensorBoard: the values of a run beside what came of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard.summary import hparams

from seq2seq.tensorboard.event_log import MARK, event_writer


def write_hparams(
    run_dir: Path, values: Mapping[str, Any], metrics: Mapping[str, float], step: int
) -> None:
    """Write the values of a finished run and its metrics, once.

    None is written as ``null``. Metrics are written as scalars too, where the tab looks for them.
    """
    shown = {key: "null" if value is None else value for key, value in values.items()}
    known = {key: v if isinstance(v, int | float | str) else str(v) for key, v in shown.items()}
    with event_writer(run_dir, mark=MARK) as writer:
        for summary in hparams(known, dict(metrics)):
            writer.file_writer.add_summary(summary)
        for tag, value in metrics.items():
            writer.add_scalar(tag, value, step)
