"""Train a translation model: seq2seq train [group=choice] [key=value] …"""

import os
import signal
import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from seq2seq.command_line.arguments import check_arguments
from seq2seq.command_line.composition import judged_compositions
from seq2seq.command_line.config_errors import CONFIG_ERRORS, as_config, explain
from seq2seq.command_line.help import help_text
from seq2seq.command_line.printing import print_while_read
from seq2seq.command_line.program import ENDINGS, ended_by
from seq2seq.config import register_schema
from seq2seq.errors import InputError, SweepEnded, TrainingFailed
from seq2seq.own_files import CONF
from seq2seq.signals import stop_signals
from seq2seq.storage.failures import refusals_in_one_line


def train(composed: DictConfig) -> int:
    """Run what Hydra composed; returns the exit status."""
    from seq2seq.runs.start import start  # noqa: PLC0415 - after --help

    try:
        return start(as_config(composed), list(HydraConfig.get().overrides.task))
    except ENDINGS as ending:
        return ended_by(ending)
    except CONFIG_ERRORS as error:
        return ended_by(InputError(explain(error)))


def main() -> int:
    """Compose the configuration and run it; wrong input is one line and exit status 2."""
    print_while_read()
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text(CONF), end="")
        return 0
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of a shortened traceback
    # outside of the training itself, which keeps its progress first
    for number in set(stop_signals()) - {signal.SIGINT}:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    register_schema()
    statuses: list[int] = []

    # an exception that left this function would make Hydra print lines of its own
    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def task(composed: DictConfig) -> None:
        statuses.append(train(composed))

    try:
        check_arguments(sys.argv[1:], CONF)
        with judged_compositions(), refusals_in_one_line("this folder"):
            task()
    except (InputError, TrainingFailed) as error:
        return ended_by(error)
    except CONFIG_ERRORS as error:
        return ended_by(InputError(explain(error)))
    except SweepEnded as ended:
        return ended.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return max(statuses, default=0)
