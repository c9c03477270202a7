"""A job of several processes, on torch.distributed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seq2seq.errors import JobBroken, TrainingFailed
from seq2seq.plain_text import first_line

PATIENCE = timedelta(minutes=10)
"""How long the processes wait for each other at the start."""

LONGEST_TURN = timedelta(days=1)
"""How long the others wait while the first process builds a corpus."""

SPOKEN = "spoken"


class JoinedGroup:
    """See `ProcessGroup`. What is no tensor goes over gloo, as JSON: nothing received can run.

    Args:
        rank: number of this process.
        size: number of processes.
        store: what all processes can read and write.
    """

    def __init__(self, rank: int, size: int, store: Store) -> None:
        self.rank = rank
        self.size = size
        self._store = store
        self._group = dist.new_group(backend="gloo", timeout=LONGEST_TURN)

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and talks to the user."""
        return self.rank == 0

    def total(self, values: Tensor) -> Tensor:
        """The sum over the processes."""
        values = values.clone()
        with broken_job_said():
            dist.all_reduce(values)
        return values

    def greatest(self, number: int) -> int:
        """The greatest of the processes' numbers."""
        found = torch.tensor(number)
        with broken_job_said():
            dist.all_reduce(found, op=dist.ReduceOp.MAX, group=self._group)
        return int(found)

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        content = json.dumps(value).encode()
        places = torch.zeros(self.greatest(len(content)) + 1, dtype=torch.uint8)
        places[: len(content)] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        found = [torch.empty_like(places) for _ in range(self.size)]
        with broken_job_said():
            dist.all_gather(found, places, group=self._group)
        return [json.loads(bytes(each.tolist()).rstrip(b"\0")) for each in found]

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """The first process has left the block before another begins it."""
        if not self.is_first:
            self._wait()
        yield
        if self.is_first:
            self._wait()

    def _wait(self) -> None:
        with broken_job_said():
            dist.barrier(group=self._group)

    def may_speak(self) -> bool:
        """Whether this process is the first to ask."""
        try:
            return self._store.add(SPOKEN, 1) == 1
        except RuntimeError:  # the first process, which keeps the store, has ended and has spoken
            return False


@contextmanager
def joined(rank: int, size: int, device: torch.device) -> Iterator[JoinedGroup]:
    """Be one of the processes of a job, as MASTER_ADDR and MASTER_PORT tell where it meets.

    Args:
        rank: number of this process.
        size: number of processes.
        device: that of this process.

    Raises:
        TrainingFailed: the others do not come.
    """
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(device)
    try:
        store, _, _ = next(iter(rendezvous("env://", rank, size, timeout=PATIENCE)))
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
            store=PrefixStore("job", store),
            rank=rank,
            world_size=size,
        )
        job = JoinedGroup(rank, size, store)
    except RuntimeError as error:
        raise TrainingFailed(
            f"process {rank} of {size} did not meet the others ({first_line(error)}): they must "
            "be started together, and reach MASTER_ADDR and MASTER_PORT"
        ) from error
    yield job
    # after an error the others may not come to an end
    dist.destroy_process_group()


def slurm_address() -> dict[str, str]:
    """Where the processes of a SLURM job meet: the first machine, a port made of the job's id."""
    slurm = SLURMEnvironment(auto_requeue=False)
    return {"MASTER_ADDR": slurm.main_address, "MASTER_PORT": str(slurm.main_port)}


def is_broken_job(error: BaseException) -> bool:
    """Whether an error says that another process has ended."""
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and ("gloo" in str(error) or "NCCL" in str(error))
    )


@contextmanager
def broken_job_said() -> Iterator[None]:
    """Turn the error of a communication into `JobBroken`."""
    try:
        yield
    except RuntimeError as error:
        raise JobBroken from error
