"""Finished runs, the settings that they have, and how the settings differ over seeds and test sentences."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from judged_seeds import Judgment, compare, e_bh, holm, judge, paired
from seq2seq.common.errors import InputError
from seq2seq.common.named import flat, is_within
from seq2seq.common.progress import counted
from seq2seq.data.addresses import overrides_of
from seq2seq.evaluation.metrics import direction_of, metric_of

LEVEL = 0.05
MOST_KEYS = 4
"""Keys in the label of a setting, but for those that it takes to tell settings apart."""
FEWEST = 20
"""Sentences below which drawing them again says nothing of others; seeds alone are compared."""

NOT_COMPARED = (
    "seed", "data.seed", "name", "experiment_name", "paths.", "hydra.", "threads", "metric", "overwrite", "ckpt_path",
    "logger.", "callbacks.attention.", "callbacks.samples.", "callbacks.epoch_lines.", "callbacks.report.", "callbacks.periodic.",
    "data.root", "trainer.default_root_dir", "trainer.enable_", "trainer.log_every", "trainer.profiler",
)  # fmt: skip
"""Keys, or their prefixes, that do not distinguish settings."""


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A finished run.

    Its configuration is by dotted key, its metrics are those of metrics.json, and its overrides are by key.
    """

    folder: Path
    config: dict[str, Any]
    metrics: dict[str, Any]
    overrides: dict[str, str]

    @property
    def seed(self) -> Any:
        """The seed of the training."""
        return self.config.get("seed")

    @property
    def has_languages(self) -> bool:
        """Whether its scores are of several pairs of languages."""
        return any(re.match("(val|test)\\..*bleu_[^-]+-", key) for key in flat(self.metrics))

    def values(self) -> dict[str, Any]:
        """Return the part of the configuration that defines the setting, and digests of what it only names, which may change."""
        made_of = {k: self.metrics[k] for k in ("made_of", "start") if self.config and k in self.metrics}
        return {k: v for k, v in self.config.items() if not f"{k}.".startswith(NOT_COMPARED)} | made_of

    def score(self, metric: str) -> float:
        """Return a score such as ``test/beam/chrf``.

        Raises:
            InputError: The run does not have it.
        """
        split = metric.partition("/")[0]
        if split in ("val", "test") and not self.metrics.get(split):
            has_validation = split == "test" and self.metrics.get("val")
            other = (
                f"--metric val/{metric.rpartition('/')[2]}"
                if has_validation
                else "the folders of the runs to compare"
            )
            raise InputError(
                f"{self.folder} has no scores of {split}, so metric={metric} compares nothing: give {other}"
            )
        found = metric_of(self.metrics, metric)
        if not isinstance(found, int | float) or not isfinite(found):
            raise InputError(
                f"{self.folder}: metrics.json has {metric}={found}, which is no score: leave this run out"
            )
        return found

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file of predictions, such as ``test.greedy``.

        Raises:
            InputError: There is no such file.
        """
        path = self.folder / "predictions" / f"{name}.txt"
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")
        try:
            return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is damaged ({error.reason}): leave this run out") from error


@dataclass(frozen=True)
class Setting:
    """Runs that differ only in the seed.

    The label has the values that distinguish it from the other settings; runs are ordered by seed.
    """

    label: str
    runs: list[FinishedRun]


def find_runs(paths: Sequence[Path]) -> tuple[list[FinishedRun], list[str]]:
    """Return the finished runs in folders, and the reasons for skipping others.

    Raises:
        InputError: A path is no folder, or there is no finished run.
    """
    runs: list[FinishedRun] = []
    left_out: list[str] = []
    known: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise InputError(f"{path}: there is no such folder")
        for file in sorted(path.rglob("config.yaml")):
            folder = file.parent
            if folder.name == ".hydra":
                continue
            try:
                metrics = dict(json.loads((folder / "metrics.json").read_text(encoding="utf-8")))
                config = _config_of(file)
            except FileNotFoundError:
                left_out.append(f"{folder} is not finished")
                continue
            except Exception as error:
                left_out.append(f"{folder} cannot be read ({str(error).splitlines()[0]:.80})")
                continue
            overrides = dict(each.lstrip("+~").partition("=")[::2] for each in overrides_of(folder))
            run = FinishedRun(folder, config, metrics, overrides)
            key = repr([run.seed, sorted(run.values().items())])
            if not run.values():  # of an empty file, or of one that was cut off
                left_out.append(f"{folder} cannot be read (config.yaml has no settings)")
            elif key in known:
                left_out.append(f"{folder} has the setting and the seed of {known[key]}")
            elif not metrics.get("finished"):
                left_out.append(f"{folder} is not finished")
            else:
                known[key] = folder
                runs.append(run)
    if not runs:
        raise InputError(
            f"no finished run in {', '.join(map(str, paths))}{''.join('; ' + e for e in left_out[:1])}"
        )
    tried = {run.folder: run.overrides["debug"] for run in runs if "debug" in run.overrides}
    tried = {folder: choice for folder, choice in tried.items() if folder not in paths}
    if len(tried) < len(runs):
        runs = [run for run in runs if run.folder not in tried]
        left_out += [f"{folder} is a run for debugging (debug={choice})" for folder, choice in tried.items()]
    return runs, left_out


def _config_of(file: Path) -> dict[str, Any]:
    """Return a configuration by dotted key, without the run's own folder, which does not distinguish it."""
    config = flat(OmegaConf.to_container(OmegaConf.load(file)))
    place = str(config.get("paths.run_dir"))
    return {k: v.replace(place, "") if isinstance(v, str) else v for k, v in config.items()}


def settings_of(runs: Sequence[FinishedRun]) -> list[Setting]:
    """Group runs by everything but the seed; label each group by its overrides, or else by its values.

    Runs that all start from a model of their own seed, such as ``teacher-1``, ``teacher-2``, are of one group.
    """
    alike: dict[str, list[FinishedRun]] = {}
    for run in runs:
        stem = re.sub(r"\d+$", "", str(run.config.get("init_from")))
        alike.setdefault(repr(sorted({**run.values(), "init_from": stem, "start": None}.items())), []).append(
            run
        )
    groups: dict[str, list[FinishedRun]] = {}
    for key, members in alike.items():
        starts = {(str(run.config.get("init_from")), str(run.seed)) for run in members}
        is_own = len(starts) > 1 and all(re.search(rf"\D{seed}$", start) for start, seed in starts)
        for run in members:
            groups.setdefault(key if is_own else repr(sorted(run.values().items())), []).append(run)
    first = [group[0] for group in groups.values()]
    typed = [
        {k: v for k, v in run.overrides.items() if not f"{k}.".startswith(NOT_COMPARED)} for run in first
    ]
    labels = _labels(typed, further=True)
    if len(set(labels)) < len(first):
        labels = _labels([run.values() for run in first])
    return [Setting(label, sorted(group, key=lambda run: str(run.seed).zfill(9)))
            for label, group in zip(labels, groups.values(), strict=True)]  # fmt: skip


def _labels(values: Sequence[dict[str, Any]], *, further: bool = False) -> list[str]:
    """Return a label for each dictionary, made of the first keys that tell them apart, and of `further` ones that differ."""
    chosen: list[str] = []
    every = dict.fromkeys(key for each in values for key in each)
    different = [key for key in every if len({(key in each, repr(each.get(key))) for each in values}) > 1]
    ends = Counter(key.rpartition(".")[2] for key in different)

    def part(key: str, value: Any) -> str:
        end = key.rpartition(".")[2]
        return f"{end if ends[end] < 2 else key}={value}"

    def labeled(keys: Sequence[str]) -> list[str]:
        parts = [[part(key, each[key]) for key in keys if key in each] for each in values]
        return [" ".join(each) or "default" for each in parts]

    def whole(each: dict[str, Any]) -> str:
        return " ".join(part(key, value) for key, value in each.items()) or "default"

    for key in different:
        if len(set(labeled([*chosen, key]))) > len(set(labeled(chosen))):
            chosen.append(key)
    if not chosen:
        return ["all runs"] * len(values)
    others = [key for key in different if further and key not in chosen]
    num_shown = max(MOST_KEYS - len(chosen), 0)
    more = " …" if len(others) > num_shown else ""
    shown = sorted([*chosen, *others[:num_shown]], key=different.index)
    return [
        f"{label}{more}" if label != "default" else whole(each)
        for label, each in zip(labeled(shown), values, strict=True)
    ]


def counts_of(
    runs: Sequence[FinishedRun], metric: str
) -> tuple[NDArray[Any], Callable[[NDArray[Any]], NDArray[Any]]] | None:
    """Return the counts of every test sentence (runs, sentences, counts), and the score of their sums.

    The runs were tested on the same text; of other metrics than ``test/bleu`` or ``val/beam/exact_match``, and of
    means over several pairs of languages, the result is None.
    """
    from seq2seq.evaluation.bleu import bleu_of

    split, *search, name = metric.split("/")
    found = f"{split}.{search[0] if search else 'greedy'}"
    if name not in ("bleu", "exact_match") or any(run.has_languages for run in runs):
        return None
    if not all((run.folder / "predictions" / f"{found}.txt").is_file() for run in runs):
        return None
    counts = np.stack([_counts(run, found, f"{split}.reference", name) for run in runs])
    return counts, bleu_of if name == "bleu" else lambda sums: 100 * sums[..., 0] / sums[..., 1]


@cache
def _counts(run: FinishedRun, found: str, reference: str, name: str) -> NDArray[Any]:
    from seq2seq.evaluation.bleu import sentence_statistics

    hypotheses, references = run.lines(found), run.lines(reference)
    if len(hypotheses) != len(references):
        raise InputError(
            f"{run.folder}/predictions: {found}.txt has {counted(len(hypotheses), 'line')}, {reference}.txt {len(references):,}"
        )
    if name == "bleu":
        return sentence_statistics(hypotheses, references, str(run.config.get("data.target_language", "")))
    return np.array([[h == r, 1] for h, r in zip(hypotheses, references, strict=True)], dtype=float)


def comparable(runs: Sequence[FinishedRun], metric: str) -> tuple[list[list[FinishedRun]], list[str]]:
    """Return the runs that have a score in groups of those that were scored on the same sentences, and why others are left out.

    Raises:
        InputError: None has the score.
    """
    name, groups = f"{metric.partition('/')[0]}.reference", defaultdict[str, list[FinishedRun]](list)
    left_out: dict[str, InputError] = {}
    for run in runs:
        try:
            run.score(metric)
        except InputError as error:
            left_out[f"{run.folder} has no {metric}"] = error
            continue
        has_text = (run.folder / "predictions" / f"{name}.txt").is_file()
        groups["\n".join(run.lines(name)) if has_text else ""].append(run)
    if not groups:
        raise next(iter(left_out.values()))
    return [*groups.values()], [*left_out]


def difference(one: Setting, other: Setting, metric: str, level: float) -> dict[str, Any]:
    """Compare two settings by `judged_seeds.compare`, or else by Welch's test over seeds.

    Returns:
        The part of a row that says it: ``difference`` of the mean scores, ``low`` and ``high`` of its confidence interval, ``p``
        (None if it cannot be computed), and the ``basis``, which variation is included: ``seeds``, ``sentences``, ``seeds and
        sentences``, or nothing.
    """
    from scipy.stats import ttest_ind

    counts, p = counts_of([*one.runs, *other.runs], metric), None
    if counts is not None and counts[0].shape[1] >= FEWEST:
        statistics, score = counts
        num = len(one.runs)
        found = compare(statistics[num:], statistics[:num], level, score=score)
        mean, interval, p = found.difference, found.interval, found.p
        basis = "seeds and sentences" if found.knows_seeds else "sentences"
    else:
        scores = [[run.score(metric) for run in each.runs] for each in (one, other)]
        mean, interval, basis = float(np.mean(scores[0]) - np.mean(scores[1])), (np.nan, np.nan), ""
        if min(map(len, scores)) > 1 and max(map(np.ptp, scores)) > 0:
            tested = ttest_ind(*scores, equal_var=False)  # Welch (1947)
            low, high = tested.confidence_interval(1 - level)
            interval, p, basis = (float(low), float(high)), float(tested.pvalue), "seeds"
    return {"difference": mean, "low": interval[0], "high": interval[1], "p": p, "basis": basis}


def at_any_look(one: Setting, other: Setting, metric: str, level: float) -> Judgment:
    """Judge the difference of two settings over their seeds, so that it holds however often one looks and adds seeds."""
    scores = [[(run.seed, run.score(metric)) for run in each.runs] for each in (other, one)]
    return judge([b - a for a, b in paired(*scores)], level)


def direction(settings: Sequence[Setting], metric: str) -> str | None:
    """Return whether higher or lower scores are better, ``max`` or ``min``; None if the runs do not say it.

    A metric of your own is imported for what it declares if it is of torchmetrics; any other one is known by a callback that
    compares it.
    """
    name = metric.rpartition("/")[2]
    values = settings[0].runs[0].config
    own = {
        key.split(".")[2]: target
        for key, target in values.items()
        if re.fullmatch(r"module\.metrics\.[^.]+\._target_", key)
    }
    found = direction_of(metric, {each: _of_torchmetrics(str(target)) for each, target in own.items()})
    if found is not None:
        return found
    compares = {
        key.removesuffix("monitor") + "mode" for key, value in values.items()
        if key.endswith(".monitor") and str(value).rpartition("/")[2] == name
    }  # fmt: skip
    modes = {values.get(key) for key in compares} - {None}
    return str(modes.pop()) if len(modes) == 1 else None


def _of_torchmetrics(target: str) -> Any:
    """Return a class of torchmetrics by its name; None for others, whose code is not run."""
    if not is_within(target, ["torchmetrics"]):
        return None
    from hydra.utils import get_class

    return get_class(target)


def tries_in(paths: Sequence[Path]) -> int:
    """Return the number of settings that were tried in folders, with those that failed, or are not finished."""
    tried = set[str]()
    for file in {
        file for path in paths for file in path.rglob("config.yaml") if file.parent.name != ".hydra"
    }:
        try:
            tried.add(repr(sorted(FinishedRun(file.parent, _config_of(file), {}, {}).values().items())))
        except Exception:  # cut off by a kill
            tried.add(str(file))
    return len(tried)


def compared(
    settings: Sequence[Setting], metric: str, baseline: str | None = None, tries: int | None = None
) -> list[dict[str, Any]]:
    """Return one row per setting, best first: its scores, and the difference from the best or the baseline.

    ``p_looks`` of a row is the p-value at any number of looks, and ``is_shown`` whether the difference is shown by it: among all by
    Holm's method, or with `tries`, the number of changes of the baseline that were tried, by e-BH.
    """
    sign = 1 if direction(settings, metric) == "min" else -1
    scores = {s.label: [run.score(metric) for run in s.runs] for s in settings}
    ordered = sorted(settings, key=lambda s: sign * float(np.mean(scores[s.label])))
    chosen = ordered[0] if baseline is None else next((s for s in ordered if _same(s.label, baseline)), None)
    if chosen is None:
        raise InputError(f"--baseline {baseline}: choose one of {', '.join(repr(s.label) for s in ordered)}")
    pairs = (
        list(combinations(ordered, 2))
        if baseline is None
        else [(chosen, s) for s in ordered if s is not chosen]
    )
    level = LEVEL / max(len(pairs), 1)
    found = {(a.label, b.label): difference(b, a, metric, level) for a, b in pairs}
    known = {pair: each["p"] for pair, each in found.items() if each["p"] is not None}
    corrected = dict(zip(known, holm(list(known.values())) if known else [], strict=True))
    judged = {
        (a.label, b.label): at_any_look(b, a, metric, LEVEL / max(tries or 0, len(pairs))) for a, b in pairs
    }
    p = [each.p for each in judged.values()]
    if tries is None:
        shown = [each < LEVEL for each in holm(p)] if p else []
    else:
        shown = e_bh(p, max(tries, len(p)))
    is_shown = dict(zip(judged, shown, strict=True))
    rows = []
    for setting in ordered:
        values, pair = scores[setting.label], (chosen.label, setting.label)
        row = {"setting": setting.label, "runs": len(values), "mean": float(np.mean(values)),
               "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None}  # fmt: skip
        if pair in found:
            row |= found[pair] | {"p_holm": corrected.get(pair), "p_looks": judged[pair].p, "is_shown": is_shown[pair],
                                  "pairs": judged[pair].seeds, "further": judged[pair].further}  # fmt: skip
        rows.append(row | {"scores": values, "seeds": [run.seed for run in setting.runs]})
    return rows


def _same(label: str, typed: str) -> bool:
    """Return whether a label is meant: as it stands, or by overrides in any order, with whole keys or commas between."""
    found = [
        {
            each.rpartition("=")[0].rpartition(".")[2] + each[each.rfind("=") :]
            for each in re.split(r"[ ,]+(?=[\w.+~/]+=)", text)
        }
        for text in (label, typed.strip())
    ]
    return label == typed or found[0] == found[1]


def _digits(value: float, sign: str = "") -> str:
    """Return a number with two decimals, or its first digit where these are zero: a difference may be that small."""
    return f"{value:{sign}.1g}" if 1e-9 < abs(value) < 0.005 else f"{value:{sign}z.2f}"


def _looks(row: dict[str, Any]) -> str:
    """Return whether a difference is shown at any number of looks."""
    if "pairs" not in row:
        return ""
    if row["is_shown"]:
        return f"shown after {counted(row['pairs'], 'seed')}"
    more = f"; {row['further']} more to know" if row["further"] else ""
    return f"not shown after {counted(row['pairs'], 'seed')}{more}"


def comparison_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a table for a terminal."""
    lines = [
        ["setting", "runs", "mean ± sd", "difference", "interval", "p (Holm)", "", "at any number of looks"]
    ]
    for row in rows:
        spread = _digits(row["mean"]) + ("" if row["sd"] is None else f" ± {_digits(row['sd'])}")
        line = [row["setting"], str(row["runs"]), spread, "", "", "", "", _looks(row)]
        if "difference" in row:
            p = row["p_holm"]
            line[3] = _digits(row["difference"], "+")
            line[4] = f"{_digits(row['low'], '+')} to {_digits(row['high'], '+')}" if p is not None else ""
            line[5] = "unknown" if p is None else f"{p:.3f}" if p >= 0.0005 else "< 0.001"
            line[6] = "" if p is None else "significant" if p < LEVEL else "not significant"
            line[6] += ", one seed" if row["basis"] == "sentences" else ""
        lines.append(line)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
