"""Curves of settings for TensorBoard: the mean and the standard deviation over the seeds of a sweep."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

SUFFIX = ".settings"
"""End of the names of the event files that are written here."""


class SettingCurves(Callback):
    """Hydra callback that writes the curves of the settings when a sweep has ended."""

    def on_multirun_end(self, config: DictConfig, **options: Any) -> None:
        """Write them into the sweep's folder."""
        write_curves(Path(config.hydra.sweep.dir))


def write_curves(sweep: Path) -> None:
    """Write the curves of each setting with several seeds into ``settings/LABEL`` in a sweep's folder, in place of earlier ones.

    A curve is the mean of a validation score over all seeds. Its band is mean ± standard deviation, which TensorBoard shows as a
    margin chart in the tab Custom Scalars. Steps that a run of the setting does not have are left out.
    """
    from seq2seq.common.errors import InputError
    from seq2seq.evaluation.comparison import find_runs, settings_of

    for file in sweep.glob(f"settings/*/*{SUFFIX}"):
        file.unlink()
    try:
        settings = settings_of(find_runs([sweep])[0])
    except InputError:  # no run is finished
        return
    for setting in settings:
        curves = defaultdict[tuple[str, int], list[float]](list)
        for run in setting.runs if len(setting.runs) > 1 else ():
            for place, value in _validations(run.folder).items():
                curves[place].append(value)
        whole = {
            place: values for place, values in sorted(curves.items()) if len(values) == len(setting.runs)
        }
        if whole:
            _write(whole, sweep / "settings" / setting.label.replace("/", "_")[:200])


def _validations(folder: Path) -> dict[tuple[str, int], float]:
    """Return the validation scores in the event files of a run by tag and step; of a step that was repeated, the last."""
    from judged_seeds import EVENTS, scalars_in

    rows = scalars_in(folder) if any(folder.glob(EVENTS)) else []
    return {(tag, row["step"]): value for row in rows for tag, value in row.items() if tag.startswith("val/")}


def _write(curves: dict[tuple[str, int], list[float]], folder: Path) -> None:
    """Write mean and band of the values by tag and step, and the layout of the charts."""
    import numpy as np
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder), filename_suffix=SUFFIX) as writer:
        for (tag, step), values in curves.items():
            mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
            for name, value in (
                (tag, mean),
                (f"low/{tag}", mean - deviation),
                (f"high/{tag}", mean + deviation),
            ):
                writer.add_scalar(name, value, step)
        charts = {tag: ["Margin", [tag, f"low/{tag}", f"high/{tag}"]] for tag, _ in curves}
        writer.add_custom_scalars({"mean and standard deviation over seeds": charts})
