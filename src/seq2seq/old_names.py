"""Earlier names of keys, options and classes, and their present names."""

from functools import cache
from pathlib import Path

import yaml

OLD_CLASSES = {"ConstantScore": "UniformScore"}
"""Classes in the descriptions of models."""


@cache
def old_keys() -> dict[str, str]:
    """Return what replaces earlier keys, groups and options of commands."""
    return yaml.safe_load(Path(__file__).with_name("old_keys.yaml").read_text(encoding="utf-8"))
