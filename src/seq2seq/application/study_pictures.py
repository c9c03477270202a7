"""Pictures of a search."""

from pathlib import Path

import optuna


def draw_study(study: optuna.Study, folder: Path) -> None:
    """Placeholder"""
