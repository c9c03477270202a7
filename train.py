"""Train a translation model: python train.py [group=choice] [key=value] …"""

import os
import signal
import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from seq2seq.application.config_errors import CONFIG_ERRORS, as_config, check_arguments, explain
from seq2seq.application.help import help_text
from seq2seq.application.launch import launch, needs_launch, num_processes
from seq2seq.application.plain_config import require_plain_config
from seq2seq.application.run import refuse_sweep, run
from seq2seq.application.run_folder import run_folder
from seq2seq.application.together import was_said
from seq2seq.config import register_schema
from seq2seq.errors import InputError, SweepEnded, TrainingFailed, TrainingInterrupted

CONF = Path(__file__).resolve().parent / "conf"


def train(composed: DictConfig) -> int:
    """Run what Hydra composed; returns the exit status."""
    try:
        config = as_config(composed)
        refuse_sweep(config)
        if needs_launch(config.device, os.environ):
            return launch([sys.executable, *sys.argv], num_processes(config.device))
        overrides = list(HydraConfig.get().overrides.task)
        run(config, run_folder(config, overrides), overrides)
    except CONFIG_ERRORS as error:
        return refuse(explain(error))
    except (InputError, TrainingFailed, TrainingInterrupted) as error:
        return end(error)
    return 0


def end(error: InputError | TrainingFailed | TrainingInterrupted) -> int:
    """Say why a run ended; returns the exit status."""
    stopped = isinstance(error, TrainingInterrupted)
    if not was_said(error):
        line = f"{error}; the same command continues" if stopped else f"error: {error}"
        print(line, file=sys.stderr)
    if isinstance(error, TrainingInterrupted):
        return 128 + error.signal_number
    return 2 if isinstance(error, InputError) else 1


def refuse(message: str) -> int:
    """Say what is wrong with the input."""
    print(f"error: {message}", file=sys.stderr)
    return 2


def main() -> int:
    """Compose the configuration and run it; wrong input is one line and exit status 2."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text(CONF), end="")
        return 0
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of a shortened traceback
    # outside of the training itself, which keeps its progress first
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    register_schema()
    statuses: list[int] = []

    # an exception that left this function would make Hydra print lines of its own
    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def task(composed: DictConfig) -> None:
        statuses.append(train(composed))

    try:
        check_arguments(sys.argv[1:], CONF)
        require_plain_config(CONF, sys.argv[1:])
        task()
    except InputError as error:
        return refuse(str(error))
    except CONFIG_ERRORS as error:
        return refuse(explain(error))
    except SweepEnded as ended:
        return ended.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return max(statuses, default=0)


if __name__ == "__main__":
    sys.exit(main())
