"""Train a model: ``seq2seq train KEY=VALUE …``, as `train.py` of the repository does."""

import sys
from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from seq2seq.messages import CONF, exit_with_one_line, in_one_line


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def task(config: DictConfig) -> float | None:
    """Train as the configuration says; return the metric that a sweeper asked for."""
    from seq2seq.train import run

    return in_one_line(run, config)


def main(arguments: Sequence[str]) -> None:
    """Compose the configuration and train."""
    import seq2seq.train  # noqa: F401 - registers the resolver of run names

    sys.argv = [__file__, *arguments]  # what launchers and Lightning start again
    with exit_with_one_line():
        task()


if __name__ == "__main__":
    main(sys.argv[1:])
