"""The process of a training: its seed, its threads, what Lightning says in it, and its end."""

import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import lightning.pytorch as pl
import torch
from lightning.fabric.utilities import disable_possible_user_warnings
from lightning.pytorch.utilities.seed import isolate_rng

from seq2seq.common.progress import warn

SEEDS = "PL_GLOBAL_SEED", "PL_SEED_WORKERS"
"""Where Lightning keeps the seed for other processes."""

PARENT = "SEQ2SEQ_PARENT"
"""Where a training keeps its process id for the processes that Lightning starts for it."""


def end_with_parent() -> None:
    """End this process, one of several of a training, once the process that started it has ended.

    Else it would wait for that process until the time limit of `torch.distributed`, 30 minutes. Processes that
    torchrun or SLURM started are ended by these.
    """
    parent = int(os.environ.get(PARENT, "0"))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        try:
            warn("the first process of this training has ended, so this one ends")
        finally:
            os._exit(1)  # the main thread may be within torch, where no exception reaches it

    if parent and os.name == "posix":
        threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


@contextmanager
def process_of(seed: int, threads: int | None, *, is_first: bool) -> Iterator[None]:
    """Set the seed and the threads (None: as they are), and hide what Lightning says of every run; restore all of it.

    One that is not the first of a training ends with it.
    """
    if not is_first:
        end_with_parent()
    before, environment = torch.get_num_threads(), {name: os.environ.get(name) for name in (*SEEDS, PARENT)}
    with isolate_rng(), warnings.catch_warnings():
        disable_possible_user_warnings()  # Lightning's, of small runs
        for message in (
            "exists and is not empty",  # the folder of a run that continues
            "isinstance.treespec, LeafSpec",  # Lightning's own call of torch
            "was not created with WeightAveraging",  # a checkpoint of a run without it
            r"add the following callbacks: \['Timer'\]",  # of trainer.max_time, which may be left out
            "hooks will not be called on every batch",  # but every step, as they are meant to
        ):
            warnings.filterwarnings("ignore", f"(?s).*{message}.*")
        os.environ[PARENT] = str(os.getpid())
        pl.seed_everything(seed, workers=True, verbose=False)
        if threads is not None:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            for name, value in environment.items():
                os.environ.pop(name, None)
                os.environ |= {} if value is None else {name: value}
