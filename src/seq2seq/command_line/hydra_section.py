"""What the section `hydra` of a configuration may hold: this program's own values, and few others.

Hydra imports, calls and writes what that section names before the program is asked anything. So the
section is compared with this table as it was composed, whatever file or argument a value is from.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from hydra.types import RunMode

from seq2seq.errors import InputError
from seq2seq.plain_text import shortened

BASIC = "hydra._internal.core_plugins.basic_"
SUBMITIT = "hydra_plugins.hydra_submitit_launcher.submitit_launcher."
LAUNCHERS = (
    f"{BASIC}launcher.BasicLauncher",
    f"{SUBMITIT}LocalLauncher",
    f"{SUBMITIT}SlurmLauncher",
)
SILENT = {"version": 1, "root": None, "disable_existing_loggers": False}

OWN: dict[str, tuple[object, ...]] = {
    "run": ({"dir": "."},),
    "sweep": ({"dir": ".", "subdir": "."},),
    "output_subdir": (None,),
    "sweeper": (
        {"_target_": "hydra_plugins.seq2seq_sweeper.JobSweeper"},
        {"_target_": f"{BASIC}sweeper.BasicSweeper", "max_batch_size": None, "params": None},
    ),
    "job_logging": (SILENT,),
    "hydra_logging": (SILENT,),
    "callbacks": ({},),
    "searchpath": ([],),
    "env": ({},),
    "mode": (None, RunMode.RUN, RunMode.MULTIRUN),
    "verbose": (False, True),
}
"""The values that a key of the section may have, whole."""

OWN_OF_JOB: dict[str, tuple[object, ...]] = {
    "chdir": (None,),
    "id": ("???",),
    "num": ("???",),
    "env_set": ({},),
    "env_copy": ([],),
    "config": ({"override_dirname": {"kv_sep": "=", "item_sep": ",", "exclude_keys": []}},),
}
OWN_OF_LAUNCHER = {
    "submitit_folder": "${hydra.sweep.dir}/.submitit/%j",
    "name": "${hydra.job.name}",
    "additional_parameters": {},
}
WRITTEN_BY_HYDRA = {"runtime", "job.override_dirname", "job.config_name"}
SHOWN_ONLY = {"help", "hydra_help"}
"""Texts of options that this program does not have."""

WORD = re.compile(r"[\w.:+-]+")
"""What a file may give to a launcher: it can end no line of a script, and is no path."""


def judge_hydra(section: Any, overrides: Sequence[str]) -> None:
    """Refuse a section that could make Hydra do something of which this program does not know.

    A launcher's option that is no plain word, such as ``setup``, has to be in the overrides.

    Args:
        section: as composed, nothing interpolated.
        overrides: those that it was composed with.

    Raises:
        InputError: naming the key and its value.
    """
    if not isinstance(section, dict):
        raise _refused("hydra", section)
    for key, value in section.items():
        if key == "job":
            _judge_job(value)
        elif key == "launcher":
            _judge_launcher(value, _typed(overrides))
        elif key == "overrides":
            if sorted([*value["hydra"], *value["task"]]) != sorted(overrides):
                raise _refused("hydra.overrides", value)
        elif key not in WRITTEN_BY_HYDRA | SHOWN_ONLY and value not in OWN.get(key, ()):
            raise _refused(f"hydra.{key}", value)


def _judge_job(job: dict[str, Any]) -> None:
    for key, value in job.items():
        own = WORD.fullmatch(value) if key == "name" else value in OWN_OF_JOB.get(key, ())
        if not own and f"job.{key}" not in WRITTEN_BY_HYDRA:
            raise _refused(f"hydra.job.{key}", value)


def _judge_launcher(launcher: Any, typed: set[str]) -> None:
    if not isinstance(launcher, dict) or launcher.get("_target_") not in LAUNCHERS:
        raise _refused("hydra.launcher", launcher)
    for key, value in launcher.items():
        if key == "_target_" or OWN_OF_LAUNCHER.get(key) == value:
            continue
        own = f"hydra.launcher.{key}"
        whole = own in typed and not isinstance(value, dict)  # mappings are merged with a file's
        for place, leaf in leaves(value, own):
            word = place == own and WORD.fullmatch(str(leaf))
            if not word and (not (whole or place in typed) or "${" in str(leaf)):
                raise _refused(place, leaf)


def _typed(overrides: Sequence[str]) -> set[str]:
    return {override.partition("=")[0].lstrip("+") for override in overrides}


def leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """The values of nested mappings and lists that are neither, or empty, by their keys."""
    if isinstance(value, dict | list) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from leaves(part, f"{place}.{key}")
    else:
        yield place, value


def _refused(key: str, value: object) -> InputError:
    return InputError(
        f"{key}: {shortened(value)} is none of the values that this program gives to Hydra; a "
        "configuration names no code, no folder and no file for Hydra"
    )
