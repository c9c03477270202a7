"""What a person calls: train, sweep, compare, load, show_attention."""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.command_line.calling import set_command
from seq2seq.command_line.composing import composed, composing
from seq2seq.errors import InputError, SweepEnded, TrainingFailed, TrainingInterrupted
from seq2seq.interface.finished_run import FinishedRun
from seq2seq.interface.given_text import Pairs, text_overrides
from seq2seq.own_files import CONF
from seq2seq.runs.run_folder import name_from_overrides, run_folder
from seq2seq.runs.start import start
from seq2seq.storage.failures import refusals_in_one_line

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra

    from seq2seq.interface.shown_attention import ShownAttention
    from seq2seq.sweeps.comparison import ComparedGroups

_BUSY = threading.Lock()
"""Held by the call that trains: random numbers, threads and the command belong to the process."""


def train(
    *overrides: str,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    validation: Pairs | None = None,
    test: Pairs | None = None,
) -> FinishedRun:
    """Train a model, as ``seq2seq train OVERRIDES`` does: the same keys, checks and run folder.

    A call that was interrupted continues where it stopped, when it is made again; one that has
    ended gives the same run again.

    Args:
        *overrides: ``key=value`` or ``group=choice``, such as ``"attention=dot"``.
        source: sentences to train on, instead of a corpus that ``data=…`` names.
        target: the translation of each.
        validation: source and target sentences that are held out, two lists; without them give
            ``data.validation.fraction=…``.
        test: likewise.

    Raises:
        InputError: an override or the text is wrong, or this process is training already.
        TrainingFailed: training cannot go on.
        KeyboardInterrupt: somebody interrupted it; its checkpoint is written.
    """
    splits = {"train": (source, target), "validation": validation, "test": test}
    with _command(overrides):
        if given := text_overrides(lambda: _runs_dir(overrides), splits):
            name = name_from_overrides([*overrides, f"text={Path(given[-1]).parent.name}"])
            overrides = (f"name='{name}'", *given, *overrides)
        config, own = composed(CONF, overrides)
        with _own_threads():
            status = start(config, own)
    if status:
        raise TrainingFailed(
            "training has ended early, see what was printed; the call continues it"
        )
    return FinishedRun(run_folder(config, own))


def sweep(
    *overrides: str,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    validation: Pairs | None = None,
    test: Pairs | None = None,
) -> list[FinishedRun]:
    """Train a model for each combination of values, as ``seq2seq train -m OVERRIDES`` does.

    Args:
        *overrides: as of `train`; values with commas between them, ``"attention=dot,additive"``.
        source: see `train`.
        target: see `train`.
        validation: see `train`.
        test: see `train`.

    Returns:
        The finished runs.

    Raises:
        InputError: as of `train`.
        TrainingFailed: jobs went wrong; the others are finished.
        KeyboardInterrupt: somebody interrupted it; the same call continues.
    """
    splits = {"train": (source, target), "validation": validation, "test": test}
    with _command(overrides, "-m"):
        overrides = (*text_overrides(lambda: _runs_dir(overrides), splits), *overrides)
        with composing(CONF, overrides) as hydra:
            ended = _swept(hydra, overrides)
        if ended.status > 128:
            raise TrainingInterrupted(ended.status - 128, None)
    if ended.status:
        raise TrainingFailed("some jobs have not finished, see the table; the call tries the rest")
    return [FinishedRun(folder) for folder in ended.folders]


def compare(*runs: "FinishedRun | str | Path") -> "ComparedGroups":
    """Compare runs, or those in folders, as ``seq2seq compare`` does; a notebook shows the table.

    Raises:
        InputError: there is no finished run.
    """
    from seq2seq.sweeps.comparison import compare_runs  # noqa: PLC0415 - when it is needed

    return compare_runs([run.folder if isinstance(run, FinishedRun) else Path(run) for run in runs])


def load(run: str | Path) -> FinishedRun:
    """A finished run, by its folder.

    Raises:
        InputError: there is none.
    """
    loaded = FinishedRun(Path(run))
    loaded.metrics  # noqa: B018 - refuses what is no finished run
    return loaded


def show_attention(
    weights: Any, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> "ShownAttention":
    """Attention of any model, which a notebook shows as the viewer of the Attention tab.

    Arguments are those of `seq2seq.tensorboard.records.log_attention`, one or several heads.

    Raises:
        ValueError: likewise.
    """
    from seq2seq.interface.shown_attention import ShownAttention  # noqa: PLC0415 - as above
    from seq2seq.tensorboard.records import attention_record  # noqa: PLC0415

    return ShownAttention(attention_record(weights, source_tokens, target_tokens))


@contextmanager
def _command(overrides: Sequence[str], *options: str) -> Iterator[None]:
    """Be ``seq2seq train`` for a block: messages name commands so, and processes are started so."""
    for override in overrides:
        if not isinstance(override, str) or override.startswith("-"):
            raise InputError(f"{override!r} is no override: write 'key=value', as text")
    if not _BUSY.acquire(blocking=False):
        raise InputError("this process is training already: wait for its end, or start another")
    before = sys.argv
    try:
        set_command("train", [*options, *overrides])
        with refusals_in_one_line("this folder"):
            yield
    except TrainingInterrupted as stopped:
        if stopped.signal_number != signal.SIGINT:
            raise
        raise KeyboardInterrupt(f"{stopped}; the same call continues") from None
    finally:
        sys.argv = before
        _BUSY.release()


@contextmanager
def _own_threads() -> Iterator[None]:
    """Give back the number of threads, which ``device.threads`` sets for the process."""
    import torch  # noqa: PLC0415 - after what is refused at once

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _runs_dir(overrides: Sequence[str]) -> Path:
    placing = [each for each in overrides if each.partition("=")[0] == "runs_dir"]
    return Path(composed(CONF, placing)[0].runs_dir)


def _swept(hydra: "Hydra", overrides: Sequence[str]) -> SweepEnded:
    """How a sweep ended, which Hydra raises."""
    try:
        hydra.multirun("config", _no_task, list(overrides), with_log_configuration=False)
    except SweepEnded as ended:
        return ended
    raise InputError("hydra/sweeper: from Python a sweep has its own, leave it out")


def _no_task(_: object) -> None:
    """Jobs are processes of their own."""
