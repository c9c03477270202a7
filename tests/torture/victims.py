"""Runs of train.py as children of a process that has torch imported: a fork costs milliseconds."""

import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import seq2seq.runs.fit
import seq2seq.runs.training_run  # noqa: F401
from seq2seq.training.module import TranslationModule
from tests.torture import limits

ROOT = Path(__file__).parents[2]

SMALL_GRAMMAR = ["data.train_pairs=60", "data.validation_pairs=12", "data.test_pairs=4"]

TINY = [
    "model.embedding_size=8",
    "model.encoder_hidden_size=6",
    "model.decoder_hidden_size=12",
    "model.readout_size=8",
    "attention.hidden_size=6",
    "trainer.batch_sentences=8",
    "trainer.max_epochs=2",
    "trainer.log_every=3",
    "optim.warmup_steps=2",
    "tensorboard.heatmaps=1",
    "tensorboard.samples=2",
    "tensorboard.panel.first=2",
    "decoding.beam=2",
    "device=cpu",
]
"""With `SMALL_GRAMMAR`, 8 batches an epoch and 2 batches a validation."""


def start(action: Callable[[], int], output: Path) -> int:
    """Fork a child that writes what it says into a file; returns its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    status = 70
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = action()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError):  # some are closed, or nobody reads them
                stream.flush()
        os._exit(status)


def wait(process: int, most_seconds: float | None = None) -> int:
    """Exit status of a child, negative for a signal; -9 where it took more than `limits`."""
    return limits.wait(process, most_seconds)[0]


def main(overrides: Sequence[str]) -> int:
    """train.py with a command line."""
    sys.argv = ["train.py", *overrides]
    runpy.run_path(str(ROOT / "train.py"), run_name="__main__")  # it ends with SystemExit
    return 0


def script(name: str, *arguments: object) -> int:
    """A program of scripts/ with a command line."""
    sys.argv = [name, *map(str, arguments)]
    runpy.run_path(str(ROOT / "scripts" / name), run_name="__main__")
    return 0


def command(run_dir: Path, overrides: Sequence[str] = ()) -> list[str]:
    """The command line of a tiny run in a folder."""
    place = [f"runs_dir={run_dir.parents[1]}", f"experiment_name={run_dir.parent.name}"]
    own_corpus = any(override.startswith("data=") for override in overrides)
    corpus = [] if own_corpus else SMALL_GRAMMAR
    return [*TINY, *corpus, *place, f"name={run_dir.name}", *overrides]


def run_child(
    run_dir: Path,
    overrides: Sequence[str] = (),
    *,
    hook: Callable[[], None] | None = None,
    most_seconds: float | None = None,
) -> int:
    """A run to its end; returns the exit status. The output is beside the folder."""
    child = start(lambda: _hooked(command(run_dir, overrides), hook), log_of(run_dir))
    return wait(child, most_seconds)


def _hooked(overrides: Sequence[str], hook: Callable[[], None] | None) -> int:
    if hook is not None:
        hook()
    return main(overrides)


def log_of(run_dir: Path) -> Path:
    """What the runs in a folder have said."""
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    return run_dir.with_name(f"{run_dir.name}.out")


def record_batches(file: Path) -> None:
    """Write step, sentences and loss of every batch into a file."""
    training_step = TranslationModule.training_step

    def recorded(self, batch, batch_index):
        loss = training_step(self, batch, batch_index)
        place = self.trainer.fit_loop.total_batch_idx
        with file.open("a") as out:
            out.write(f"{place} {batch.sentence_ids.tolist()} {float(loss.detach()).hex()}\n")
        return loss

    TranslationModule.training_step = recorded


def batches_of(file: Path) -> dict[int, str]:
    """The batches by their place; one that was computed twice must have been the same."""
    found: dict[int, str] = {}
    for line in file.read_text().splitlines():
        place, _, what = line.partition(" ")
        if found.setdefault(int(place), what) != what:
            raise AssertionError(f"batch {place} differs between two attempts: {file}")
    return found
