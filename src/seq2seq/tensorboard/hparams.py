"""The HParams tab of TensorBoard: the values of a run beside what came of them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard.summary import hparams

from seq2seq.tensorboard.event_log import MARK, event_writer


def write_hparams(
    run_dir: Path,
    values: Mapping[str, Any],
    given: Mapping[str, str],
    metrics: Mapping[str, float],
    step: int,
) -> None:
    """Write the values of a finished run and its metrics, once.

    None is written as ``null``. Metrics are written as scalars too, where the tab looks for them.

    Args:
        run_dir: where.
        values: all of them.
        given: what the command line set of them, and the groups that it chose: shown first.
        metrics: the scores.
        step: of the scalars.
    """
    shown = {key: "null" if value is None else value for key, value in {**given, **values}.items()}
    known = {key: v if isinstance(v, int | float | str) else str(v) for key, v in shown.items()}
    experiment, *session = hparams(known, dict(metrics))
    _put_first(experiment, given)
    with event_writer(run_dir, mark=MARK) as writer:
        for summary in (experiment, *session):
            writer.file_writer.add_summary(summary)
        for tag, value in metrics.items():
            writer.add_scalar(tag, value, step)


def _put_first(experiment: Any, names: Collection[str]) -> None:
    """Mark values as those that differ between runs, which the tab shows before all others."""
    metadata = experiment.value[0].metadata.plugin_data
    data = HParamsPluginData.FromString(metadata.content)
    for info in data.experiment.hparam_infos:
        info.differs = info.name in names
    metadata.content = data.SerializeToString()
