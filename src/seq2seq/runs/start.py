"""A run as a command or a call wants it: in its folder, alone or as several processes."""

import os
import sys
from collections.abc import Sequence

from seq2seq.command_line.calling import own_command
from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.runs.launch import launch, needs_launch, num_processes
from seq2seq.runs.run import run
from seq2seq.runs.run_folder import run_folder


def refuse_sweep(config: Config) -> None:
    """A sweep is not one run.

    Raises:
        InputError: the configuration is that of a sweep.
    """
    if config.sweep.parameters:
        raise InputError("sweep=… describes many runs: add -m (from Python: seq2seq.sweep)")


def start(config: Config, overrides: Sequence[str]) -> int:
    """Do what this command describes, in as many processes as it wants; returns the exit status.

    Args:
        config: of the run.
        overrides: those of the command line that are not Hydra's own.

    Raises:
        InputError: the configuration is that of a sweep; and what `run` raises.
    """
    refuse_sweep(config)
    if needs_launch(config.device, os.environ):
        return launch([*own_command(), *sys.argv[1:]], num_processes(config.device))
    run(config, run_folder(config, overrides), overrides)
    return 0
