"""Jobs on other machines: whatever launcher Hydra is given, such as submitit's for SLURM."""

import subprocess
import sys
from collections.abc import Sequence

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext
from omegaconf import DictConfig

from seq2seq.experiments.job import Job, has_model, ledger_of
from seq2seq.experiments.ledger import ENDED, FAILURES, State

LOCAL = "basic"
"""The launcher that Hydra has when none is chosen; our own driver takes its place."""


def launch_elsewhere(
    hydra_context: HydraContext, config: DictConfig, jobs: Sequence[Job], retry_failed: bool
) -> bool:
    """Run the jobs that are left by Hydra's launcher; returns whether one was chosen.

    A job is a command line of its own there too. What became of it is in its record.
    """
    if config.hydra.runtime.choices.get("hydra/launcher") == LOCAL:
        return False
    left = [job for job in jobs if _is_left(job, retry_failed)]
    if left:
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=CommandLine(sys.argv[0]), config=config
        )
        launcher.launch([list(job.overrides) for job in left], initial_job_idx=0)
    return True


class CommandLine:
    """Runs a job as its own process, wherever the launcher brings this.

    Args:
        program: path of train.py.
    """

    def __init__(self, program: str) -> None:
        self._program = program

    def __call__(self, composed: DictConfig) -> int:  # noqa: ARG002 - the job composes its own
        """Run; returns the exit status."""
        overrides = list(HydraConfig.get().overrides.task)
        return subprocess.run([sys.executable, self._program, *overrides], check=False).returncode


def _is_left(job: Job, retry_failed: bool) -> bool:
    ledger = ledger_of(job)
    if ledger is None or ledger.state not in ENDED:
        return True
    if ledger.state is State.finished:
        return not has_model(job.folder)
    return ledger.state in FAILURES and retry_failed
