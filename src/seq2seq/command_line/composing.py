"""Configurations made outside of Hydra's own main function."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from hydra import compose, initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from omegaconf import open_dict

from seq2seq.command_line.arguments import check_arguments
from seq2seq.command_line.composition import judged_compositions
from seq2seq.command_line.config_errors import CONFIG_ERRORS, as_config, explain
from seq2seq.config import Config, register_schema
from seq2seq.errors import InputError


@contextmanager
def composing(conf: Path, overrides: Sequence[str]) -> Iterator[Hydra]:
    """Hydra, to compose with; afterwards it is again whoever's it was before.

    Args:
        conf: the folder of configurations.
        overrides: ``key=value`` and ``group=choice``.

    Raises:
        InputError: the overrides are wrong, or what is composed in the block.
    """
    check_arguments(overrides, conf)
    register_schema()
    others = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with judged_compositions(), initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            yield cast("Hydra", GlobalHydra.instance().hydra)
    except CONFIG_ERRORS as error:
        raise InputError(explain(error)) from error
    finally:
        GlobalHydra.instance().hydra = others


def composed(conf: Path, overrides: Sequence[str]) -> tuple[Config, list[str]]:
    """The configuration that overrides describe, and those of them that are not Hydra's own.

    Args:
        conf: see `composing`.
        overrides: see `composing`.

    Raises:
        InputError: the overrides are wrong.
    """
    with composing(conf, overrides):
        whole = compose("config", overrides=list(overrides), return_hydra_config=True)
        own = list(whole.hydra.overrides.task)
        with open_dict(whole):
            del whole["hydra"]
        return as_config(whole), own
