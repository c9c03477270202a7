"""Several processes that train one model, as forks: the laws of docs/scale.md."""

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.torture.victims import command, main, start, wait


def start_job(
    run_dir: Path,
    overrides: Sequence[str] = (),
    *,
    size: int = 2,
    hook: Callable[[int], None] | None = None,
) -> list[int]:
    """Start the processes of a job, as torchrun would; returns their ids.

    Args:
        run_dir: of the run; what the processes say is beside it, see `said_by`.
        overrides: of the run.
        size: number of processes.
        hook: is called in each process, with its rank, before the program.
    """
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])

    def be(rank: int) -> int:
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
        os.environ |= place | meeting
        if hook is not None:
            hook(rank)
        device = ["device=ddp", f"device.devices={size}", "device.accelerator=cpu"]
        return main([*command(run_dir, overrides), *device])

    return [start(lambda rank=rank: be(rank), log_of(run_dir, rank)) for rank in range(size)]


def run_job(run_dir: Path, overrides: Sequence[str] = (), **options: object) -> list[int]:
    """A job to its end; returns the exit statuses by rank."""
    return [wait(process) for process in start_job(run_dir, overrides, **options)]


def log_of(run_dir: Path, rank: int) -> Path:
    """Where a process says what it says."""
    return run_dir.with_name(f"{run_dir.name}.{rank}.out")


def said_by(run_dir: Path, size: int = 2) -> list[str]:
    """What the processes have said, by rank."""
    return [log_of(run_dir, rank).read_text() for rank in range(size)]
