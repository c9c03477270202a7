"""What ``seq2seq train --help`` prints. Nothing is composed for it, so that it comes at once."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import yaml

from seq2seq.command_line.calling import as_called
from seq2seq.command_line.reference import setting_of
from seq2seq.own_files import own_file

OFTEN_SET = (
    "name",
    "seed",
    "data.source_language",
    "data.target_language",
    "data.tokenizer.name",
    "data.tokenizer.max_size",
    "data.tokenizer.lowercase",
    "data.max_length",
    "data.limit",
    "model.embedding_size",
    "model.encoder_hidden_size",
    "model.decoder_hidden_size",
    "model.num_layers",
    "model.dropout",
    "attention.hidden_size",
    "optim.learning_rate",
    "trainer.max_epochs",
    "trainer.batch_sentences",
    "trainer.batch_tokens",
    "trainer.early_stopping",
    "device.precision",
    "device.threads",
    "init_from",
)

EXAMPLES = {
    "": "the default experiment; needs no data",
    " attention=scaled_dot seed=2": "another score, another seed",
    " data=multi30k trainer.max_epochs=3": "a public corpus, fetched the first time",
    " data=tatoeba data.file=fra-eng.zip debug=data": "only look at a corpus",
    " data=parallel data.train.source=a.en data.train.target=a.fr \\\n"
    "    data.source_language=en data.target_language=fr data.validation.fraction=0.02": (
        "your own text"
    ),
    " --config-dir FOLDER data=NAME": "FOLDER/data/NAME.yaml, a file of your own",
    " -m attention=additive,dot seed=1,2": "a run of each: a sweep",
    " debug=fast": "the whole path in seconds",
}

HEAD = """\
Train a translation model with attention, and watch the attention in TensorBoard.

  seq2seq train [group=choice ...] [key=value ...]

Commands to copy:
"""

TAIL = """\
Every key, its range and its value are in
{page}.
The values of a run, without running it: seq2seq train --cfg job
Tab completion: eval "$(seq2seq train -sc install=bash)"; for zsh the same with install=zsh after
autoload -U compinit bashcompinit; compinit; bashcompinit
for fish: seq2seq train -sc install=fish | source
"""


def help_text(conf: Path) -> str:
    """Commands to copy, groups with their choices, and the keys that are often set."""
    examples = "\n".join(_example(*each) for each in EXAMPLES.items())
    groups = "\n".join(
        fill(choices, 100, initial_indent=f"  {name:<11} ", subsequent_indent=" " * 14)
        for name, choices in _groups(conf).items()
    )
    keys = "\n".join(_key_line(key) for key in OFTEN_SET)
    tail = TAIL.format(page=own_file("docs/configuration.md"))
    return (
        f"{as_called(HEAD)}{examples}\n\nGroups, each with its choices (* the default). "
        f"Every value is explained in\n{own_file('conf')}/GROUP/CHOICE.yaml.\n{groups}\n\n"
        f"Often set:\n{keys}\n\n{as_called(tail)}"
    )


def _example(arguments: str, purpose: str) -> str:
    command = as_called(f"  seq2seq train{arguments}")
    return f"{command}\n{'':<54}{purpose}" if len(command) > 52 else f"{command:<54}{purpose}"


def default_choices(conf: Path) -> Mapping[str, Any]:
    """The choice of each group in the root configuration."""
    root = yaml.safe_load((conf / "config.yaml").read_text(encoding="utf-8"))
    return {
        group: choice
        for entry in root["defaults"]
        if isinstance(entry, dict)
        for group, choice in entry.items()
        if "/" not in group
    }


def choices_of(conf: Path, group: str) -> list[str]:
    """Names of a group's files."""
    return sorted(path.stem for path in (conf / group).glob("*.yaml"))


def _groups(conf: Path) -> dict[str, str]:
    return {
        group: "  ".join(
            f"{choice}*" if choice == default else choice for choice in choices_of(conf, group)
        )
        for group, default in default_choices(conf).items()
    }


def _key_line(key: str) -> str:
    setting = setting_of(key)
    if setting is None:
        raise KeyError(key)
    unit = f" [{setting.unit}]" if setting.unit else ""
    unit += f": {', '.join(setting.choices)}" if setting.choices else ""
    return f"  {key:<27} {setting.meaning}{unit}"
