"""Starts the processes that train one model together, and tells each its place among them.

``seq2seq train device=ddp`` starts one process a device with the command line it was given
itself; torchrun and srun have started them already. All tell a process its place in the variables
of its environment.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from seq2seq.config import DeviceConfig
from seq2seq.errors import InputError
from seq2seq.experiments.processes import cores
from seq2seq.own_files import own_file
from seq2seq.plain_text import shortened
from seq2seq.signals import give_back, stop_signals, take
from seq2seq.storage.folder_lock import inherited_descriptors

GRACE_SECONDS = 10.0
"""How long the other processes may take to end after one has failed."""

LAUNCHED = "SEQ2SEQ_LAUNCHED"
"""Set where `launch` has started the process, whose standard input ends with the launcher: to the
number of the launcher."""

RANK, LOCAL_RANK, SIZE = "RANK", "LOCAL_RANK", "WORLD_SIZE"
SLURM = {RANK: "SLURM_PROCID", LOCAL_RANK: "SLURM_LOCALID", SIZE: "SLURM_STEP_NUM_TASKS"}
"""The variables of torchrun, and those of srun that mean the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a process in its job.

    Attributes:
        rank: number of the process.
        local_rank: its number among those of its machine.
        size: number of processes.
    """

    rank: int = 0
    local_rank: int = 0
    size: int = 1


def num_processes(device: DeviceConfig) -> int:
    """How many processes train together."""
    return device.devices * device.num_nodes


def started_place(environment: Mapping[str, str]) -> Place | None:
    """What a launcher, torchrun or srun says of this process; None where nobody says anything.

    Raises:
        InputError: it is no place in a job.
    """
    of_slurm = _number(environment, SLURM[SIZE], least=1) > 1
    names = SLURM if of_slurm and SIZE not in environment else {name: name for name in SLURM}
    if any(name not in environment for name in names.values()):
        return None
    size = _number(environment, names[SIZE], least=1)
    rank, local_rank = (
        _number(environment, names[name], most=size - 1) for name in (RANK, LOCAL_RANK)
    )
    return Place(rank, local_rank, size)


def _number(
    environment: Mapping[str, str], name: str, *, least: int = 0, most: int = 2**31 - 1
) -> int:
    """The whole number of a variable; the least one where it is not set."""
    text = environment.get(name, str(least))
    if not re.fullmatch("[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise InputError(
            f"{name}={shortened(text)} in the environment is no whole number from {least} to "
            f"{most}: unset it, or train with device=ddp, torchrun or srun"
        )
    return int(text)


def place_in_job(device: DeviceConfig, environment: Mapping[str, str]) -> Place:
    """The place of this process.

    Raises:
        InputError: there are more or fewer processes than devices.
    """
    place, wanted = started_place(environment) or Place(), num_processes(device)
    if place.size != wanted:
        raise InputError(
            f"device.devices={device.devices} x device.num_nodes={device.num_nodes} is a process "
            f"each for {wanted} devices, but {place.size} started: train with device=ddp, "
            "or as many processes by torchrun or srun"
        )
    return place


def needs_launch(device: DeviceConfig, environment: Mapping[str, str]) -> bool:
    """Whether this process is to start those that train.

    Raises:
        InputError: they are on several machines, which torchrun or srun can do.
    """
    if num_processes(device) == 1 or started_place(environment) is not None:
        return False
    if device.num_nodes > 1:
        raise InputError(
            f"device.num_nodes={device.num_nodes}: start the program by torchrun or srun on every "
            f"machine, see {own_file('docs/scale.md')}"
        )
    return True


def launch(command: Sequence[str], num_ranks: int) -> int:
    """Run a command as so many processes of one job; returns the exit status.

    Signals are handed on to all. Where one fails, the others are stopped.
    """
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        SIZE: str(num_ranks),
        "LOCAL_WORLD_SIZE": str(num_ranks),
        LAUNCHED: str(os.getpid()),
    }
    environment.setdefault("OMP_NUM_THREADS", str(max(cores() // num_ranks, 1)))
    if sys.platform == "linux":  # a machine's own name may lead nowhere
        environment.setdefault("GLOO_SOCKET_IFNAME", "lo")
    handed_on = inherited_descriptors()
    processes = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=None if rank == 0 else subprocess.DEVNULL,
            env=environment | {RANK: str(rank), LOCAL_RANK: str(rank)},
            pass_fds=handed_on if rank == 0 else (),
            start_new_session=True,  # Ctrl-C reaches them through this process only, and once
        )
        for rank in range(num_ranks)
    ]
    return _Processes(processes).supervise()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class _Processes:
    """The processes of a job, as the one that started them sees them."""

    def __init__(self, processes: list[subprocess.Popen[bytes]]) -> None:
        self._processes = processes
        self._forwarded: set[int] = set()
        self._stopped: set[int] = set()

    def supervise(self) -> int:
        """Wait for the end of all; returns the exit status of the job."""
        before = take((*stop_signals(), signal.SIGUSR1), self._forward)
        try:
            self._wait()
        finally:
            self._stop()
            give_back(before)
        return self._status()

    def _forward(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._forwarded.add(number)
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(number)

    def _wait(self) -> None:
        """Until all have ended, or the time is up that one that failed leaves the others."""
        deadline = float("inf")
        while time.monotonic() < deadline:
            statuses = [process.poll() for process in self._processes]
            if None not in statuses:
                return
            if deadline == float("inf") and any(statuses):
                deadline = time.monotonic() + GRACE_SECONDS
            time.sleep(0.02)

    def _stop(self) -> None:
        for rank, process in enumerate(self._processes):
            if process.poll() is None:
                self._stopped.add(rank)
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _status(self) -> int:
        codes = {
            rank: process.returncode
            for rank, process in enumerate(self._processes)
            if rank not in self._stopped
        }
        killed = {
            rank: -code for rank, code in codes.items() if code < 0 and -code not in self._forwarded
        }
        for rank, number in sorted(killed.items())[:1]:
            print(
                f"error: process {rank} of {len(self._processes)} was ended by signal {number}, "
                "and with it the job; the last checkpoint is intact, the same command continues",
                file=sys.stderr,
            )
        if killed:
            return 1
        return max((128 - code if code < 0 else code for code in codes.values()), default=1)


def job_process() -> int:
    """The number of the process that stands for this job: its end is the end of all.

    Raises:
        InputError: the launcher's is no number.
    """
    return _number({LAUNCHED: str(os.getpid())} | os.environ, LAUNCHED, least=1)


def follow_launcher() -> None:
    """End this process when the launcher has ended, however that was."""
    if LAUNCHED in os.environ:
        threading.Thread(target=_end_with_input, daemon=True).start()


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
