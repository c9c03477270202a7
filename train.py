"""Train a translation model: ``python train.py --help``. `seq2seq.run.run` has the procedure."""

import sys

try:
    from seq2seq.cli.interrupts import end_imports_on_interrupt, require_standard_error
    from seq2seq.common.progress import announce

    end_imports_on_interrupt()
    require_standard_error()
    announce("loading the configuration")
    import hydra
    from omegaconf import DictConfig

    from hydra_checked.program import HYDRA_MAIN, run_task, start
    from seq2seq.run.run import task
    from seq2seq.settings.application import APPLICATION
except ModuleNotFoundError as missing:
    print(f"error: {sys.executable} has no package {missing.name}: run make install, then .venv/bin/python train.py …",
          file=sys.stderr)  # fmt: skip
    sys.exit(2)


@hydra.main(config_path="conf", config_name="config", **HYDRA_MAIN)
def main(config: DictConfig) -> float | None:
    """Train as the configuration says; return the metric that a sweeper asked for."""
    return run_task(APPLICATION, task, config)


if __name__ == "__main__":
    start(APPLICATION, main)
