"""Train a translation model: ``python train.py --help``. `seq2seq.train` has the procedure."""

import hydra
from omegaconf import DictConfig

from seq2seq.messages import exit_with_one_line, in_one_line
from seq2seq.train import run


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config: DictConfig) -> float | None:
    """Train as the configuration says; return the metric that a sweeper asked for."""
    return in_one_line(run, config)


if __name__ == "__main__":
    with exit_with_one_line():
        main()
