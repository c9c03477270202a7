"""Pictures of a search: how it went, and what mattered."""

from pathlib import Path

import optuna
from optuna.importance import get_param_importances
from optuna.study import StudyDirection
from optuna.trial import TrialState
from PIL.Image import Image

from seq2seq.pictures import curves
from seq2seq.pictures.bars import render_bars
from seq2seq.pictures.heatmap import png_bytes
from seq2seq.storage.writing import write_file

MIN_TRIALS = 4
"""Fewer say nothing of what matters."""


def draw_study(study: optuna.Study, folder: Path) -> list[Path]:
    """Write ``history.png`` and ``importances.png``, as far as there are numbers for them."""
    trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    pictures = {}
    if trials:
        pictures["history"] = _history(study, trials)
    distinct = {trial.value for trial in trials}
    if len(trials) >= MIN_TRIALS and len(distinct) > 1:
        importances = get_param_importances(study)
        pictures["importances"] = render_bars(importances, title="importance (fANOVA)")
    for name, picture in pictures.items():
        write_file(folder / f"{name}.png", png_bytes(picture))
    return [folder / f"{name}.png" for name in pictures]


def _history(study: optuna.Study, trials: list[optuna.trial.FrozenTrial]) -> Image:
    choose = max if study.direction is StudyDirection.MAXIMIZE else min
    numbers = [trial.number for trial in trials]
    values = [trial.value or 0.0 for trial in trials]
    best = [choose(values[: place + 1]) for place in range(len(values))]
    series = [
        curves.Series("trials", numbers, values, curves.GREY, kind="points"),
        curves.Series("best so far", numbers, best, curves.BLUE),
    ]
    name = study.study_name.replace("/", " ")
    return curves.render_curves(series, x_label="trial", y_label=name)
