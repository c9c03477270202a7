"""The study of a search: Optuna's journal in a folder, read as what anybody may have written."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import optuna
from msgspec import Meta
from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.pruners import BasePruner
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from seq2seq.errors import InputError
from seq2seq.experiments.job import Objective
from seq2seq.experiments.journal_lock import JournalLock
from seq2seq.plain_text import shortened
from seq2seq.storage.typed_json import converted
from seq2seq.storage.writing import open_own

MOST_BYTES = 1 << 26
"""Of a journal: tens of thousands of trials."""

REPLACED = "replaced"
"""The attribute of a study that lists trials which others were lined up for."""

Number = Annotated[int, Meta(ge=0, le=2**31)]
Real = Annotated[float, Meta(ge=-1e300, le=1e300)]


class Entry(msgspec.Struct):
    """What a line of the journal may hold; each operation has some of these."""

    op_code: Annotated[int, Meta(ge=0, le=10)]
    worker_id: str
    study_id: Number = 0
    trial_id: Number = 0
    study_name: str = ""
    directions: list[Number] = []
    state: Number = 0
    value: Real | None = None
    values: list[Real] | None = None
    step: Number = 0
    intermediate_value: float = 0.0
    intermediate_values: dict[str, float] = {}
    param_name: str = ""
    param_value_internal: Real = 0.0
    params: dict[str, Real] = {}
    distribution: str = ""
    distributions: dict[str, str] = {}
    datetime_start: datetime | None = None
    datetime_complete: datetime | None = None
    user_attr: dict[str, Any] = {}
    system_attr: dict[str, Any] = {}
    user_attrs: dict[str, Any] = {}
    system_attrs: dict[str, Any] = {}


class Journal(JournalFileBackend):
    """Optuna's journal, every line of which is an `Entry`."""

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        """The entries from one on.

        Raises:
            InputError: one is something else.
        """
        number = log_number_from
        try:
            for entry in super().read_logs(log_number_from):
                number += 1
                converted(entry, Entry)
                yield entry
        except (ValueError, RecursionError) as error:
            raise _not_ours(self._file_path, f"near line {number}: {shortened(error)}") from error


def open_study(
    folder: Path,
    metric: Objective,
    pruner: BasePruner | None = None,
    space: Mapping[str, BaseDistribution] | None = None,
) -> optuna.Study:
    """The study of a folder, made where there is none.

    Args:
        folder: of the study.
        metric: what it optimises.
        pruner: what stops its trials.
        space: what it searches, where trials are to be told from those of another search.

    Raises:
        InputError: the study optimises something else or searches elsewhere, or is no study.
    """
    path = folder / "study.journal"
    folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and not (path.is_file() and path.stat().st_size <= MOST_BYTES):
        raise _not_ours(path, f"no file of up to {MOST_BYTES} bytes")
    try:
        study = _loaded(path, metric, pruner)
        _require_sound(study, space or {})
    except InputError:
        raise
    except Exception as error:  # Optuna trusts its journal, and stumbles in many ways
        raise _not_ours(path, shortened(error)) from error
    return study


def _loaded(path: Path, metric: Objective, pruner: BasePruner | None) -> optuna.Study:
    os.close(open_own(path, os.O_RDWR | os.O_CREAT))  # Optuna would make what a link leads to
    lock: Any = JournalLock(path)  # the base class of locks is not public
    storage = JournalStorage(Journal(str(path), lock_obj=lock))
    direction = StudyDirection.MAXIMIZE if metric.direction == "max" else StudyDirection.MINIMIZE
    study = optuna.create_study(
        storage=storage,
        study_name=metric.name,
        direction=direction,
        pruner=pruner,
        load_if_exists=True,
    )
    if len(optuna.get_all_study_names(storage)) > 1:
        raise InputError(f"{path.parent} holds a search by another metric: give another sweep.name")
    if study.directions != [direction]:
        raise ValueError(f"it does not optimise {metric.name} alone")
    return study


def _require_sound(study: optuna.Study, space: Mapping[str, BaseDistribution]) -> None:
    converted(study.user_attrs.get(REPLACED, []), list[Number])
    for trial in study.get_trials(deepcopy=False):
        trial._validate()
        lined_up = converted(trial.system_attrs.get("fixed_params", {}), dict[str, Any])
        for key, distribution in space.items():
            if key in trial.distributions:
                check_distribution_compatibility(trial.distributions[key], distribution)
            if key in lined_up:
                distribution.to_internal_repr(lined_up[key])
        if trial.values is not None and len(trial.values) != 1:
            raise ValueError(f"trial {trial.number} has {len(trial.values)} values")


def _not_ours(path: Path | str, reason: str) -> InputError:
    return InputError(f"{path} is no journal of this search ({reason}): give another sweep.name")
