"""Configurations made outside of Hydra's own main function."""

from collections.abc import Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir

from seq2seq.command_line.arguments import check_arguments
from seq2seq.command_line.composition import judge_compositions
from seq2seq.command_line.config_errors import CONFIG_ERRORS, as_config, explain
from seq2seq.config import Config, register_schema
from seq2seq.errors import InputError


def composed_config(conf: Path, overrides: Sequence[str]) -> Config:
    """The configuration that command-line arguments describe, outside of Hydra's own main.

    Args:
        conf: the folder of configurations.
        overrides: ``key=value`` and ``group=choice``.

    Raises:
        InputError: the arguments are wrong.
    """
    check_arguments(overrides, conf)
    register_schema()
    judge_compositions()
    try:
        with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            return as_config(compose("config", overrides=list(overrides)))
    except CONFIG_ERRORS as error:
        raise InputError(explain(error)) from error
