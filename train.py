"""Train a translation model: ``python train.py --help``. `seq2seq.run.procedure` has the procedure."""

import hydra
from omegaconf import DictConfig

from seq2seq.run.config import HYDRA_MAIN
from seq2seq.run.messages import run_task, start
from seq2seq.run.procedure import task


@hydra.main(config_path="conf", config_name="config", **HYDRA_MAIN)
def main(config: DictConfig) -> float | None:
    """Train as the configuration says; return the metric that a sweeper asked for."""
    return run_task(task, config)


if __name__ == "__main__":
    start(main)
