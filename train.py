"""Train a translation model: python train.py [group=choice] [key=value] …"""

import os
import sys
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from seq2seq.application.config_errors import CONFIG_ERRORS, as_config, explain
from seq2seq.application.run import run
from seq2seq.application.run_folder import run_folder
from seq2seq.config import register_schema
from seq2seq.errors import InputError, TrainingInterrupted


@hydra.main(config_path="conf", config_name="config", version_base="1.3")
def train(composed: DictConfig) -> Any:
    """Run what Hydra composed."""
    config = as_config(composed)
    run_dir = run_folder(config, HydraConfig.get().overrides.task)
    return run(config, run_dir)


def main() -> int:
    """Run, and turn wrong input into one line and exit status 2."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of a shortened traceback
    register_schema()
    try:
        train()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except CONFIG_ERRORS as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        return 2
    except TrainingInterrupted as error:
        print(f"{error}; the same command continues", file=sys.stderr)
        return 128 + error.signal_number
    return 0


if __name__ == "__main__":
    sys.exit(main())
