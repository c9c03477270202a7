"""What ``python train.py --help`` prints. Nothing is composed for it, so that it comes at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from seq2seq.command_line.reference import setting_of

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

HEAD = """\
Train a translation model with attention, and watch the attention in TensorBoard.

  python train.py [group=choice ...] [key=value ...]

Commands to copy:
  python train.py                                     the default experiment; needs no data
  python train.py attention=scaled_dot seed=2         another score, another seed
  python train.py data=multi30k trainer.max_epochs=3  a public corpus, fetched the first time
  python train.py data=tatoeba data.file=fra-eng.zip debug=data
                                                      only look at a corpus
  python train.py data=parallel data.train.source=a.en data.train.target=a.fr \\
    data.source_language=en data.target_language=fr data.validation.fraction=0.02
                                                      your own text
  python train.py debug=fast                          the whole path in seconds
"""

TAIL = """\
Every key, its range and its value: docs/configuration.md. The values of a run, without running it:
python train.py --cfg job. Tab completion for bash: eval "$(python train.py -sc install=bash)"
"""


def help_text(conf: Path) -> str:
    """Commands to copy, groups with their choices, and the keys that are often set."""
    groups = "\n".join(f"  {name:<11} {choices}" for name, choices in _groups(conf).items())
    keys = "\n".join(_key_line(key) for key in OFTEN_SET)
    return (
        f"{HEAD}\nGroups, each with its choices (* the default; conf/GROUP/CHOICE.yaml explains "
        f"every value):\n{groups}\n\nOften set:\n{keys}\n\n{TAIL}"
    )


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
