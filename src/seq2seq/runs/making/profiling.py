"""Where the time of a training goes."""

from pathlib import Path

from lightning.pytorch.profilers import PyTorchProfiler
from torch.profiler import schedule

FOLDER = "profile"


def build_profiler(run_dir: Path) -> PyTorchProfiler:
    """Lightning's: of a few steps a trace that a browser opens, and a table of the operations.

    Args:
        run_dir: folder of the run; both lie in its folder ``profile``.
    """
    return PyTorchProfiler(
        dirpath=run_dir / FOLDER,
        filename="operations",
        schedule=schedule(wait=2, warmup=1, active=5, repeat=1),  # the first steps prepare
        acc_events=True,  # torch warns without
        sort_by_key="cpu_time_total",
    )
