"""Jobs on other machines, by submitit's launchers for Hydra."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext
from omegaconf import DictConfig

from seq2seq.experiments.job import Job, has_model, ledger_of
from seq2seq.experiments.ledger import ENDED, FAILURES, State
from seq2seq.experiments.processes import LOG_NAME
from seq2seq.storage.writing import appending

LOCAL = "basic"
"""The launcher that Hydra has when none is chosen; our own driver takes its place."""


def is_elsewhere(config: DictConfig) -> bool:
    """Whether a launcher was chosen."""
    return config.hydra.runtime.choices.get("hydra/launcher") != LOCAL


def launch_elsewhere(
    hydra_context: HydraContext,
    config: DictConfig,
    jobs: Sequence[Job],
    command: Sequence[str],
    *,
    retry_failed: bool,
) -> None:
    """Run the jobs that are left by Hydra's launcher, and wait for them.

    A job is a command line of its own there too. What became of it is in its record.
    """
    left = [job for job in jobs if _is_left(job, retry_failed)]
    if not left:
        return
    # the launcher's own files go beside the runs
    config.hydra.sweep.dir = str(left[0].folder.parents[1] / "sweeps")
    folders = {job.overrides: job.folder for job in left}
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=hydra_context, task_function=CommandLine(command, folders), config=config
    )
    launcher.launch([list(job.overrides) for job in left], initial_job_idx=0)


class CommandLine:
    """Runs a job as its own process, wherever the launcher brings this.

    Args:
        command: the program.
        folders: where the log of each job goes, by its overrides.
    """

    def __init__(self, command: Sequence[str], folders: dict[tuple[str, ...], Path]) -> None:
        self._command, self._folders = list(command), folders

    def __call__(self, composed: DictConfig) -> int:  # noqa: ARG002 - the job composes its own
        """Run; returns the exit status."""
        overrides = tuple(HydraConfig.get().overrides.task)
        with appending(self._folders[overrides] / LOG_NAME) as log:
            return subprocess.run(
                [*self._command, *overrides], stdout=log, stderr=subprocess.STDOUT, check=False
            ).returncode


def _is_left(job: Job, retry_failed: bool) -> bool:
    ledger = ledger_of(job)
    if ledger is None or ledger.state not in ENDED:
        return True
    if ledger.state is State.finished:
        return not has_model(job.folder)
    return ledger.state in FAILURES and retry_failed
