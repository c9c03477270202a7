"""The page of every configuration key, from the schema and conf/."""

import re
from collections.abc import Iterable
from dataclasses import fields
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from seq2seq.command_line.help import choices_of, default_choices
from seq2seq.command_line.reference import Setting, settings_of
from seq2seq.config import DATA_SCHEMAS, Config, DataConfig, register_schema
from seq2seq.option_rules import COUNTS, NEEDS

HEAD = """\
# Configuration

Every key of `conf/`, as `python train.py KEY=VALUE` takes it. This page is written by
`python scripts/document_configuration.py` from the schema (`src/seq2seq/config.py`) and the values;
the values are those of `python train.py` alone, or of the choice that a table is of,
but for what a recipe sets (`recipe=standard` has another tokenizer). The comments in the files say
more.
"""

SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z]|python )")


def configuration_page(conf: Path) -> str:
    """The whole page, as Markdown."""
    register_schema()
    sections = [HEAD, _groups(conf)]
    with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
        values = compose("config")
        keys = list(settings_of(Config))
        roots = [setting for setting in keys if "." not in setting.key]
        sections.append(_section("The run", roots, values))
        for name in dict.fromkeys(s.key.partition(".")[0] for s in keys if "." in s.key):
            below = [setting for setting in keys if setting.key.startswith(f"{name}.")]
            sections.append(_section(f"`{name}`", below, values))
            if name == "data":
                sections += [_corpus(choice) for choice in choices_of(conf, "data")]
    return "\n".join([*sections, _together()])


def _groups(conf: Path) -> str:
    """Each group with what its choices are for."""
    lines = ["## Groups", "", "| choice | what it is |", "| --- | --- |"]
    for group, default in default_choices(conf).items():
        for choice in choices_of(conf, group):
            mark = ", the default" if choice == default else ""
            lines.append(f"| `{group}={choice}`{mark} | {_purpose(conf / group, choice)} |")
    return "\n".join([*lines, ""])


def _purpose(folder: Path, choice: str) -> str:
    """The first sentence of a file's comment."""
    lines = (folder / f"{choice}.yaml").read_text(encoding="utf-8").splitlines()
    comments = takewhile(lambda line: line.startswith("# "), lines)
    text = " ".join(line[2:] for line in comments if not line.startswith("# @package"))
    return _cell(SENTENCE_END.split(text)[0])


def _section(title: str, settings: Iterable[Setting], values: DictConfig) -> str:
    rows = [
        f"| `{setting.key}` | `{_value(values, setting.key)}` | {_cell(setting.expected)} "
        f"| {_meaning(setting)} |"
        for setting in settings
    ]
    head = [f"## {title}", "", "| key | value | takes | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows, ""])


def _corpus(choice: str) -> str:
    """The keys that one corpus has beside those of all, and those of all that it sets otherwise."""
    values = compose("config", overrides=[f"data={choice}", "experiment=baseline"])
    common = compose("config")
    shared = {f"data.{name}" for name in _names(DataConfig)}
    settings = [
        setting
        for setting in settings_of(DATA_SCHEMAS[choice], "data.")
        if ".".join(setting.key.split(".")[:2]) not in shared
        or _value(values, setting.key) != _value(common, setting.key)
    ]
    return _section(f"`data={choice}`", settings, values).replace("## ", "### ", 1)


def _together() -> str:
    """The tables of `option_rules`."""
    rows = [(f"`{which}`", f"is refused but with `{needed}`") for which, needed, _ in NEEDS]
    rows += [
        (f"`{key}`", "counts with " + " and ".join(f"`{where}`" for where in conditions))
        for key, conditions in sorted(COUNTS.items())
    ]
    head = ["## What goes together", "", "| option | beside |", "| --- | --- |"]
    return "\n".join([*head, *(f"| {option} | {beside} |" for option, beside in rows), ""])


def _names(schema: type) -> list[str]:
    return [described.name for described in fields(schema)]


def _value(values: DictConfig, key: str) -> str:
    section: Any = OmegaConf.to_container(values, throw_on_missing=False, enum_to_str=True)
    for part in key.split("."):
        section = section[part]
    if section == "???":
        return "needed"
    return yaml.safe_dump(section, allow_unicode=True, width=1000).splitlines()[0]


def _meaning(setting: Setting) -> str:
    return _cell(setting.meaning + (f" [{setting.unit}]" if setting.unit else ""))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
