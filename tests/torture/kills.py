"""Part 2: kill -9 at random moments of a run, and inside the save."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import torch

from seq2seq.training.checkpoint_file import (
    LAST,
    PREVIOUS,
    DamagedCheckpointError,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from tests.torture.victims import batches_of, command, log_of, main, record_batches, start, wait

INTERVAL = 2
"""Optimiser steps between two checkpoints."""

RUN = [f"trainer.checkpoint_every={INTERVAL}", "trainer.max_epochs=6"]


def kill_runs(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Kill runs, which go on where they were killed; yields what is wrong after each."""
    generator = random.Random(1)
    number = 0
    for index in range(count):
        run_dir = folder / f"run{number}" / "run"
        process = start(lambda run_dir=run_dir: _run(run_dir), log_of(run_dir))
        # until the first batch of this attempt nothing can be lost, so most kills come later
        time.sleep(generator.uniform(0.2, 3.0))
        os.kill(process, signal.SIGKILL)
        if wait(process) == 0:
            number += 1  # it was faster
        yield f"kill {index}", _after_kill(run_dir)


def _run(run_dir: Path) -> int:
    record_batches(run_dir.with_name("batches"))
    return main(command(run_dir, RUN))


def _after_kill(run_dir: Path) -> list[str]:
    batches = run_dir.with_name("batches")
    computed = max(batches_of(batches), default=0) if batches.exists() else 0
    said = StringIO()
    with redirect_stdout(said):
        found = newest_checkpoint(run_dir / "checkpoints")
    kept = 0 if found is None else found[1]["global_step"]
    wrong = ["a checkpoint was damaged: " + said.getvalue()] if "WARNING" in said.getvalue() else []
    if computed - kept > INTERVAL:
        wrong.append(f"{computed - kept} steps lost")
    return wrong


def kill_saves(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Kill a process that does nothing but save; yields what is wrong after each."""
    folder.mkdir(parents=True)
    generator = random.Random(2)
    os.environ["TMPDIR"] = "/dev/shm"  # another file system than the folder's
    for index in range(count):
        process = start(lambda: _save_for_ever(folder), folder / "out")
        time.sleep(generator.uniform(0.01, 0.08))
        os.kill(process, signal.SIGKILL)
        wait(process)
        yield f"kill in save {index}", _torn(folder)


def _save_for_ever(folder: Path) -> int:
    _, content = newest_checkpoint(folder) or (None, {"global_step": 0})
    state = {"weight": torch.arange(500_000.0)}
    while True:
        step = content["global_step"] + 1
        parts = ("loops", "callbacks", "optimizer_states", "conditions", "events")
        content = {"global_step": step, "state_dict": state, **{part: {} for part in parts}}
        write_checkpoint(folder / LAST, content, previous=folder / PREVIOUS)


def _torn(folder: Path) -> list[str]:
    wrong = []
    for path in (folder / LAST, folder / PREVIOUS):
        try:
            if path.exists():
                read_checkpoint(path)
        except DamagedCheckpointError as error:
            wrong.append(f"{path.name} is torn: {error}")
    return wrong
