"""Values that a running job reports, by which a sweeper may end it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from omegaconf import OmegaConf

REPORTS = "reports.jsonl"
"""File in a job's folder, with a line for every reported value."""


class EndedEarly(HydraException):
    """The result of a job that was ended by the values that it reported."""


def ended_early(job: JobReturn) -> bool:
    """Return whether a job was ended by its reports."""
    return isinstance(job._return_value, EndedEarly)


def plain(value: Any) -> Any:
    """Return a number of numpy, torch or the like as one of Python; anything else as None, for JSON."""
    return value.item() if getattr(value, "ndim", None) == 0 else None


def report(value: float, step: int, folder: Path | None = None) -> None:
    """Report a value of the running job to the sweeper, which may end the job early.

    Args:
        value: The score at a validation, of the kind that the job returns.
        step: Number of the step or epoch, from 0 on; a resumed job may report a step again.
        folder: The job's folder; None: Hydra's output folder.
    """
    folder = folder or Path(HydraConfig.get().runtime.output_dir)
    with (folder / REPORTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, "value": value}, default=plain) + "\n")


def reports_in(folder: Path) -> list[tuple[int, float]]:
    """Return the steps and values that a job has reported; of a step that it reported again, the last value."""
    path, found = folder / REPORTS, {}
    for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
        try:
            entry = json.loads(line)
            found[int(entry["step"])] = float(entry["value"])
        except (ValueError, TypeError, KeyError):  # half a line, of a job that writes or was killed
            continue
    return list(found.items())


def finished_jobs(sweep: Path) -> Iterator[tuple[Path, list[str], Any, Any]]:
    """Yield folder, overrides, configuration and result of each job in the folder of a sweep that has come to its end.

    A job in whose folder another command has written its configuration since is left out.
    """
    for file in sorted(sweep.rglob("job_return.json")):
        folder = file.parent
        try:
            overrides = json.loads((folder / "job.json").read_text(encoding="utf-8"))["overrides"]
            config, written = (
                OmegaConf.load(folder / ".hydra" / f"{each}.yaml") for each in ("config", "overrides")
            )
            result = json.loads(file.read_text(encoding="utf-8"))
        except Exception:  # cut off by a kill, or not there
            continue
        if [*written] == overrides:
            yield folder, overrides, config, result
