"""Part 3: SIGTERM and SIGINT at random moments of a run."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from seq2seq.training.checkpoint_file import newest_checkpoint
from tests.torture.comparison import differences, left_by
from tests.torture.limits import PATIENCE, seconds_of, wait
from tests.torture.victims import command, log_of, main, run_child, start

LONG = ["trainer.max_epochs=400"]

SECONDS_TO_STOP = 3.0
"""Of a processor, from the signal to the end: two for the checkpoint, a step of a tiny model."""


def send_sigterm(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """SIGTERM; the run then continues to its end, like one that was left alone."""
    whole = folder / "undisturbed" / "run"
    run_child(whole)
    generator = random.Random(3)
    for index in range(count):
        run_dir = folder / f"term{index}" / "run"
        process = start(lambda run_dir=run_dir: main(command(run_dir)), log_of(run_dir))
        time.sleep(generator.uniform(0.1, 1.5))
        before = seconds_of(process)
        os.kill(process, signal.SIGTERM)
        status, seconds = wait(process)
        # one that comes before train.py has begun ends the process, which shells call 143, too
        unbegun = status == -signal.SIGTERM and not run_dir.exists()
        right = status in {0, 143} or unbegun
        wrong = [] if right else [f"exit status {status}: {log_of(run_dir)}"]
        wrong += _took_long(seconds - before)
        if run_child(run_dir) != 0:
            wrong.append(f"does not continue: {log_of(run_dir)}")
        yield f"SIGTERM {index}", wrong or differences(left_by(whole), left_by(run_dir))


def send_sigint(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """SIGINT while training, every second time twice; nothing is torn."""
    generator = random.Random(4)
    for index in range(count):
        run_dir = folder / f"int{index}" / "run"
        process = start(lambda run_dir=run_dir: main(command(run_dir, LONG)), log_of(run_dir))
        wait_for(run_dir / "checkpoints" / "last.ckpt")
        time.sleep(generator.uniform(0.0, 0.5))
        before = seconds_of(process)
        os.kill(process, signal.SIGINT)
        if index % 2:
            time.sleep(generator.uniform(0.0, 0.02))
            os.kill(process, signal.SIGINT)
        status, seconds = wait(process)
        wrong = [] if status == 130 else [f"exit status {status}: {log_of(run_dir)}"]
        wrong += _took_long(seconds - before)
        said = StringIO()
        with redirect_stdout(said):
            found = newest_checkpoint(run_dir / "checkpoints")
        if found is None or said.getvalue():
            wrong.append(f"no intact last checkpoint: {said.getvalue()}")
        yield f"SIGINT {index}", wrong


def _took_long(seconds: float) -> list[str]:
    return [f"took {seconds:.1f} s to stop"] if seconds > SECONDS_TO_STOP else []


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > end:
            raise AssertionError(f"{path} did not come")
        time.sleep(0.01)
