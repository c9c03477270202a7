"""Starts sweeps of stub jobs."""

import os
import subprocess
import sys
from pathlib import Path

from seq2seq.experiments.ledger import read_ledger

STUB = Path(__file__).with_name("stub_train.py")
SOURCE = Path(__file__).parents[1] / "src"


def start_sweep(runs_dir, *overrides, **popen):
    """A driver in the background."""
    command = [sys.executable, str(STUB), "-m", f"runs_dir={runs_dir}", *overrides]
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | popen
    return subprocess.Popen(command, env=environment, cwd=runs_dir, **pipes)


def run_sweep(runs_dir, *overrides):
    """A driver to its end: exit status and what it printed."""
    driver = start_sweep(runs_dir, *overrides)
    printed, _ = driver.communicate(timeout=300)
    return driver.returncode, printed


def folders_of(runs_dir):
    """Run folders by name."""
    return {path.parent.name: path.parent for path in runs_dir.glob("*/*/ledger.json")}


def ledgers_of(runs_dir):
    """Records by name of the run."""
    return {name: read_ledger(folder) for name, folder in folders_of(runs_dir).items()}


def ends_of(folder):
    """What a stub job left each time that it came to its end."""
    path = folder / "ends.txt"
    return path.read_text().splitlines() if path.is_file() else []
