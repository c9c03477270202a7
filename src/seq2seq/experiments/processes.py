"""Jobs as processes: each its own command line, log and share of the machine."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from seq2seq.experiments.source import Claim
from seq2seq.storage.writing import appending

LOG_NAME = "log.txt"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"


class JobProcess:
    """A job that runs, in a session of its own: Ctrl-C at the terminal does not reach it.

    Args:
        claim: what to run; the process holds the lock of its folder from its first moment.
        command: the program; the overrides are added.
        environment: its share of the machine.
    """

    def __init__(self, claim: Claim, command: Sequence[str], environment: dict[str, str]) -> None:
        self.claim, self.job = claim, claim.job
        self.started = time.monotonic()
        descriptors, handed_on = claim.lock.handed_on
        line = [*command, *self.job.overrides]
        with appending(self.job.folder / LOG_NAME) as log:
            log.write(f"$ {shlex.join(line)}\n")
            log.flush()
            self._process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | environment | handed_on,
                pass_fds=descriptors,
                start_new_session=True,
            )

    @property
    def number(self) -> int:
        """The process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The return code: negative for a signal; None while the process runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Let it write its checkpoint and stop."""
        if self.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its children at once."""
        if self.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


def shares(
    num_slots: int, num_cores: int, gpus: Sequence[str], gpus_per_job: int
) -> list[dict[str, str]]:
    """Environment of each of the slots in which jobs run beside each other.

    One slot has the machine as it is, so that a job has the results of the same run alone. More
    share the cores equally, and each has its own GPUs as long as there are enough.

    Args:
        num_slots: jobs at a time.
        num_cores: CPU cores there are.
        gpus: names of the GPUs there are, as CUDA_VISIBLE_DEVICES takes them.
        gpus_per_job: GPUs that a job needs.
    """
    if num_slots == 1:
        return [{}]
    threads = str(max(1, num_cores // num_slots))
    environments = [
        {name: threads for name in THREAD_VARIABLES if name not in os.environ}
        for _ in range(num_slots)
    ]
    if gpus:
        for slot, environment in enumerate(environments):
            places = [(slot * gpus_per_job + i) % len(gpus) for i in range(gpus_per_job)]
            environment[GPU_VARIABLE] = ",".join(gpus[place] for place in dict.fromkeys(places))
    return environments


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The NVIDIA GPUs that this process may use."""
    if GPU_VARIABLE in os.environ:
        return [name for name in os.environ[GPU_VARIABLE].split(",") if name]
    try:
        listed = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [str(place) for place in range(sum(line.startswith("GPU ") for line in lines))]


def last_line(folder: Path) -> str:
    """The last line that a job wrote into its log."""
    path = folder / LOG_NAME
    if not path.is_file():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 4096))
        lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
