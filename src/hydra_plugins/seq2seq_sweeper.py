"""What ``seq2seq train -m`` does: Hydra finds sweepers in this namespace package.

The one place where a configuration names a class: Hydra asks for it.
"""

from dataclasses import dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class JobSweeperConfig:
    """`hydra/sweeper: jobs`."""

    _target_: str = "hydra_plugins.seq2seq_sweeper.JobSweeper"


class JobSweeper(Sweeper):
    """Hands a sweep to `seq2seq.sweeps.sweep`."""

    def setup(
        self,
        *,
        hydra_context: HydraContext,
        task_function: TaskFunction,  # noqa: ARG002 - every job is a command line of its own
        config: DictConfig,
    ) -> None:
        """Keep what a sweep needs."""
        self.hydra_context, self.config = hydra_context, config

    def sweep(self, arguments: list[str]) -> Any:
        """Run the jobs.

        Raises:
            SweepEnded: with what came of it, which Hydra does not hand on otherwise.
        """
        from seq2seq.errors import SweepEnded  # noqa: PLC0415
        from seq2seq.sweeps.sweep import sweep  # noqa: PLC0415 - a single run loads Hydra too

        if self.hydra_context is None or self.config is None:
            raise RuntimeError("Hydra calls setup before sweep")
        raise SweepEnded(*sweep(self.hydra_context, self.config, arguments))


ConfigStore.instance().store(
    group="hydra/sweeper", name="jobs", node=JobSweeperConfig, provider="seq2seq"
)
