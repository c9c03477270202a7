"""Train a model: ``seq2seq train KEY=VALUE …``, as `train.py` of the repository does."""

import sys
from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from hydra_checked.program import HYDRA_MAIN, run_task, start
from seq2seq.run.run import task
from seq2seq.settings.application import APPLICATION, CONF


@hydra.main(config_path=str(CONF), config_name="config", **HYDRA_MAIN)
def train(config: DictConfig) -> float | None:
    """Train as the configuration says; return the metric that a sweeper asked for."""
    return run_task(APPLICATION, task, config)


def main(arguments: Sequence[str]) -> None:
    """Compose the configuration and train."""
    sys.argv = [__file__, *arguments]  # what launchers and Lightning start again
    start(APPLICATION, train)


if __name__ == "__main__":
    main(sys.argv[1:])
