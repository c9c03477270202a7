"""Repeats a run from what it left, and says whether everything came out the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from seq2seq.config import Precision
from seq2seq.errors import InputError
from seq2seq.experiments.ledger import State, read_ledger
from seq2seq.runs.run import run
from seq2seq.runs.saved_config import load_config

SPEED = "train/tokens_per_second"
FILES = ("model/model.safetensors", "translations/validation.jsonl", "translations/test.jsonl")


def rerun(run_dir: Path, output: Path) -> list[str]:
    """Train again with the same configuration, number of threads and precision.

    On a CPU of the same kind, with the same versions, nothing differs.

    Args:
        run_dir: a finished run.
        output: folder of the new run.

    Returns:
        What differs.

    Raises:
        InputError: the run is not finished, there is no configuration, or both folders are one.
    """
    if output.exists() and output.samefile(run_dir):
        raise InputError(f"{output} is the run that is to be repeated: give another --output")
    ledger = read_ledger(run_dir)
    if ledger is None or ledger.state is not State.finished:
        raise InputError(f"{run_dir} holds no finished run to repeat")
    config = load_config(run_dir)
    config.device = replace(config.device, threads=ledger.threads)
    if ledger.precision is not None:  # what a probe chose is not left to another probe
        config.device = replace(config.device, precision=Precision(ledger.precision))
    config.name, config.runs_dir = output.name, str(output.parent)
    run(config, output, ledger.overrides)
    return differences(run_dir, output)


def differences(first: Path, second: Path) -> list[str]:
    """What two runs do not have in common: files, byte by byte, and metrics but for speed."""
    different = [name for name in FILES if _bytes(first / name) != _bytes(second / name)]
    if _history(first) != _history(second):
        different.append("history in ledger.json")
    return different


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _history(run_dir: Path) -> list[dict[str, Any]]:
    ledger = read_ledger(run_dir)
    history = [] if ledger is None else ledger.history
    return [{key: value for key, value in entry.items() if key != SPEED} for entry in history]
