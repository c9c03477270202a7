"""Run the sweep of a claim, judge it, and write its result, plot and page.

    python benchmarks/claims/judge.py sparse hydra.launcher.n_jobs=2     run what is missing, judge, write
    python benchmarks/claims/judge.py                                    write the page alone

A claim is a YAML beside this file, written before its first run:

    says, source        the claim, and who made it
    prepare             command that makes a corpus, if it needs one
    sweep               overrides of train.py; lists are swept, seed among them
    tuned               a key and its values: each setting has the value of the least validation loss with the
                        first seed, and further seeds with that one only
    lengths             words of the source, of short sentences at most and of long ones at least, for `fall`
    comparisons         says; measure; these and those, overrides of two settings (those left out: nothing);
                        expected: more or less than those by more than `margin`, or no_more, but for `margin`;
                        without `expected` it is only asked

Measures: bleu; fall, BLEU of short sentences less that of long ones; stays, words that stay with other `weights`
(`python -m benchmarks.stays`); aer; or any score of metrics.json. The overrides ``search.beam_size`` and
``search.length_penalty`` of a setting translate the test split again.

A comparison is *as claimed* where its interval lies beyond the bound, *the opposite* where it lies on the other
side, else *not shown*. Intervals count luck with seeds, and with sentences for bleu and fall; those of comparisons
with an expectation hold together at 95 %. All as claimed: *reproduced*; none: *not reproduced*; some: *depends*.
"""

import itertools
import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from hydra_checked.program import exit_on_error
from judged_seeds import compare
from seq2seq.common.errors import InputError
from seq2seq.evaluation.bleu import NUM_STATISTICS, bleu_of, sentence_statistics
from seq2seq.evaluation.comparison import LEVEL, FinishedRun, counts_of, find_runs
from seq2seq.evaluation.metrics import METRICS, metric_of
from seq2seq.run.folder import write_json
from seq2seq.settings.application import APPLICATION

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "claims"


def written(value: Any) -> str:
    """Return a value as an override has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def runs_in(name: str) -> list[FinishedRun]:
    """Return the finished runs of a claim."""
    folder = ROOT / "runs" / f"claims-{name}"
    return find_runs([folder])[0] if any(folder.glob("*/metrics.json")) else []


def finished(claim: dict[str, Any], wanted: dict[str, Any]) -> FinishedRun | None:
    """Return the finished run whose overrides hold those that are wanted; Hydra writes true as True."""
    items = {(key, written(value).lower()) for key, value in wanted.items()}
    for run in runs_in(claim["name"]):
        if items <= {(key, value.lower()) for key, value in run.overrides.items()}:
            return run
    return None


def train(claim: dict[str, Any], sweep: dict[str, list[Any]], launcher: Sequence[str]) -> None:
    """Run a sweep, lists of values by key, unless all of it is finished."""
    jobs = [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]
    if any(finished(claim, job) is None for job in jobs):
        line = [f"{key}={','.join(map(written, values))}" for key, values in sweep.items()]
        command = [
            sys.executable,
            "train.py",
            "-m",
            *line,
            f"experiment_name=claims-{claim['name']}",
            *launcher,
        ]
        print(shlex.join(command), flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise InputError(f"a run of {claim['name']} failed, see above")
        runs_in.cache_clear()


def run_all(claim: dict[str, Any], given: Sequence[str]) -> None:
    """Run the sweep of a claim; the overrides given go to every run, or say how they are launched."""
    launcher = [each for each in given if each.startswith("hydra")]
    given = dict(each.split("=", 1) for each in given if each not in launcher)
    sweep = {k: v if isinstance(v, list) else [v] for k, v in (claim["sweep"] | given).items()}
    if "tuned" not in claim:
        return train(claim, sweep, launcher)
    first, *others = sweep.pop("seed")
    ((key, values),) = claim["tuned"].items()
    train(claim, sweep | {key: values, "seed": [first]}, launcher)
    for each in itertools.product(*sweep.values()):
        setting = dict(zip(sweep, each, strict=True))
        best = {k: [v] for k, v in setting.items()} | {key: [tuned(claim, setting)], "seed": others}
        train(claim, best, launcher)
    return None


def logged(run: FinishedRun, tag: str) -> float:
    """Return what TensorBoard has of a tag at the validation of the least loss, whose model was exported."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run.folder), size_guidance={"scalars": 0})
    events.Reload()
    best = min(events.Scalars("val/loss"), key=lambda each: each.value)
    return next(each.value for each in events.Scalars(tag) if each.step == best.step)


def tuned(claim: dict[str, Any], setting: dict[str, Any]) -> str:
    """Return the value of the tuned key with the least validation loss of the first seed."""
    ((key, values),) = claim["tuned"].items()
    seed = claim["sweep"]["seed"][0]
    found = {written(v): finished(claim, setting | {key: v, "seed": seed}) for v in values}
    if None in found.values():
        raise InputError(f"{claim['name']}: runs of {setting} are missing")
    return min(found, key=lambda value: logged(found[value], "val/loss"))


def runs_of(claim: dict[str, Any], setting: dict[str, Any]) -> list[FinishedRun]:
    """Return the runs of a setting, one for each seed."""
    wanted = {k: v for k, v in setting.items() if not k.startswith(("search.", "weights"))}
    if "tuned" in claim:
        ((key, _),) = claim["tuned"].items()
        wanted |= {key: tuned(claim, wanted)}
    runs = [finished(claim, wanted | {"seed": seed}) for seed in claim["sweep"]["seed"]]
    if None in runs:
        raise InputError(f"{claim['name']}: runs of {wanted} are missing")
    return runs


UNITS = {"bleu": "BLEU", "fall": "BLEU", "stays": "words of a hundred", "aer": "AER, percent", "omission": "percent",
         "repetition": "percent"}  # fmt: skip
"""Units of the measures in figures."""


def measured(claim: dict[str, Any], name: str, setting: dict[str, Any]) -> tuple[NDArray, Any]:
    """Return counts (seeds, sentences, counts) of a measure of a setting, and the score of their sums.

    Of a measure that is known for each seed only there is one sentence.
    """
    runs = runs_of(claim, setting)
    search = {k.removeprefix("search."): v for k, v in setting.items() if k.startswith("search.")}
    if name in ("bleu", "fall"):
        if search:
            language = str(runs[0].config["data.target_language"])
            references = runs[0].lines("test.reference")
            counts = np.stack([sentence_statistics(searched(r, search), references, language) for r in runs])
        else:
            counts = counts_of(runs, "test/bleu")[0]
        if name == "bleu":
            return counts, bleu_of
        words = np.array([len(source.split()) for source in runs[0].lines("test.source")])
        short, long = claim["lengths"]
        parts = [counts * chosen[:, None] for chosen in (words <= short, words >= long)]
        n = NUM_STATISTICS
        return np.concatenate(parts, axis=2), lambda sums: bleu_of(sums[..., :n]) - bleu_of(sums[..., n:])
    of_run = {"stays": lambda run: 100 * probed(run)[setting["weights"]],
              "aer": lambda run: 100 * logged(run, str(METRICS["aer"].logged))}  # fmt: skip
    numbers = [of_run.get(name, lambda r: metric_of(r.metrics, f"test/{name}"))(run) for run in runs]
    return np.array(numbers, dtype=float)[:, None, None], lambda sums: sums[..., 0]


def searched(run: FinishedRun, options: dict[str, Any]) -> list[str]:
    """Return the test translations of a run by another search, which are kept beside the others."""
    from seq2seq.decoding.search import search_from_options
    from seq2seq.decoding.translator import Translator

    name = "test." + ",".join(f"{key}={value}" for key, value in sorted(options.items()))
    path = run.folder / "predictions" / f"{name}.txt"
    if not path.is_file():
        translator = Translator.load(run.folder / "model")
        sources = run.lines("test.source")
        found = translator.translate(sources, search=search_from_options(**options), return_attention=False)
        path.write_text("".join(f"{each.text}\n" for each in found), encoding="utf-8")
    return run.lines(name)


def probed(run: FinishedRun) -> dict[str, float]:
    """Return the share of a model's own words that stay, by what replaces the weights; kept in probed.json."""
    path = run.folder / "probed.json"
    if not path.is_file():
        command = [sys.executable, "-m", "benchmarks.stays", str(run.folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        path.write_text(done.stdout, encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def judged(claim: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a claim whose runs are finished."""
    level = LEVEL / max(1, sum("expected" in each for each in claim["comparisons"]))
    found = []
    for each in claim["comparisons"]:
        these, score = measured(claim, each["measure"], each["these"])
        those = (
            measured(claim, each["measure"], each["those"])[0] if "those" in each else np.zeros_like(these)
        )
        used = [runs_of(claim, each[side]) for side in ("these", "those") if side in each]
        paired = len(used) == 2 and [r.folder for r in used[0]] == [r.folder for r in used[1]]
        result = compare(those, these, level, score=score, paired=paired)
        low, high = result.interval
        margin, expected = each.get("margin", 0), each.get("expected")
        bound = -margin if expected == "less" else margin
        above, below = ("as claimed", "the opposite")[:: 1 if expected == "more" else -1]
        finding = above if low > bound else below if high < bound else "not shown"
        by_seed = [score(counts.sum(axis=1)) for counts in (these, those)]
        spread = [f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}" for scores in by_seed]
        found.append({
            "says": each["says"], "measure": each["measure"], "these": spread[0],
            "those": spread[1] if "those" in each else "", "difference": result.difference,
            "interval": [low, high], "p": result.p, "finding": finding if expected else "no expectation",
        })  # fmt: skip
    claimed = [each["finding"] == "as claimed" for each in found if each["finding"] != "no expectation"]
    verdict = "reproduced" if all(claimed) else "depends" if any(claimed) else "not reproduced"
    status = ["git", "status", "--porcelain", "src", "conf", "train.py", "data"]
    changes = subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    every = runs_in(claim["name"])
    commits = sorted(
        {str(run.metrics.get("commit")).removesuffix("-dirty") for run in every}
    )  # pages change, too
    return {
        "name": claim["name"], "says": claim["says"], "source": claim["source"], "verdict": verdict,
        "found": found, "minutes": sum(run.metrics["seconds"] for run in every) / 60, "num_runs": len(every),
        "commit": ", ".join(commits) + (" and changes" if changes else ""), "date": date.today().isoformat(),
        "command": f"python benchmarks/claims/judge.py {claim['name']}",
    }  # fmt: skip


def draw(result: dict[str, Any], claim: dict[str, Any], path: Path) -> None:
    """Draw the interval of each comparison, and what it was to pass."""
    from tensorboard_attention.figures import GRAY, GREEN, VERMILION, new_figure, styled

    count = len(result["found"])
    with styled():
        figure = new_figure(8, 0.9 + 0.42 * count)
        axes = figure.add_subplot()
        for place, (each, asked) in enumerate(zip(result["found"], claim["comparisons"], strict=True)):
            color = {"as claimed": GREEN, "the opposite": VERMILION}.get(each["finding"], GRAY)
            axes.plot(each["interval"], [place, place], color=color, linewidth=2)
            axes.plot(each["difference"], place, "o", color=color)
            if "expected" in asked:
                bound = asked.get("margin", 0) * (-1 if asked["expected"] == "less" else 1)
                axes.plot(bound, place, "|", color="black", markersize=16)
        axes.axvline(0, color=GRAY, linestyle="dashed", linewidth=1, zorder=0)
        axes.set_yticks(range(count), [textwrap.fill(each["says"], 40) for each in result["found"]])
        axes.set_ylim(count - 0.4, -0.6)
        units = " or ".join(dict.fromkeys(UNITS[each["measure"]] for each in result["found"]))
        axes.set_xlabel(f"difference [{units}], with its interval; black: what the claim says at least")
        figure.savefig(path)


def page() -> str:
    """Return the page of all claims."""
    head = (HERE / "page.md").read_text(encoding="utf-8")
    rows, parts, others = [], [], []
    for path in sorted(HERE.glob("*.yaml")):
        claim, kept = yaml.safe_load(path.read_text(encoding="utf-8")), RESULTS / f"{path.stem}.json"
        if not kept.is_file():
            others.append(f"| {claim['says']} | `{path.stem}` |")
            continue
        each = json.loads(kept.read_text(encoding="utf-8"))
        draw(each, claim, RESULTS / f"{path.stem}.png")
        row = [f"[{claim['says']}](#{path.stem})", claim["source"], f"**{each['verdict']}**",
               f"{each['num_runs']}, {each['minutes']:.0f}", each["commit"]]  # fmt: skip
        rows.append(f"| {' | '.join(row)} |")
        parts += [f"## {path.stem}", ""]
        for found in each["found"]:
            low, high = found["interval"]
            these, those = (side and side.partition(" ±")[0] for side in (found["these"], found["those"]))
            sides = (
                f"{these} against {those} ({low:+.2f} to {high:+.2f})"
                if those
                else f"{these} ({low:.2f} to {high:.2f})"
            )
            finding = "" if found["finding"] == "no expectation" else f": **{found['finding']}**"
            parts.append(f"- {found['says']}: {sides}{finding}")
        parts += ["", f"![{path.stem}](claims/{path.stem}.png)", ""]
        if (text := RESULTS / f"{path.stem}.txt").is_file():
            parts += [text.read_text(encoding="utf-8").strip(), ""]
    if rows:
        rows = [
            "| claim | source | verdict | runs, minutes | commit |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    if others:
        others = ["## Not run", "", "Claims without a verdict of this version, whose sources are in their files:", "",
                  "| claim | NAME |", "| --- | --- |", *others, ""]  # fmt: skip
    return "\n".join([head.strip(), "", *rows, *parts, *others]).rstrip() + "\n"


def main(arguments: Sequence[str]) -> None:
    """Run and judge the claim that is named, if one is; write the page."""
    if arguments:
        name, *given = arguments
        path = HERE / f"{name}.yaml"
        if not path.is_file():
            names = ", ".join(sorted(each.stem for each in HERE.glob("*.yaml")))
            raise InputError(f"{name}: there is no such claim; choose one of {names}")
        claim = {"name": name} | yaml.safe_load(path.read_text(encoding="utf-8"))
        if "prepare" in claim:
            subprocess.run([sys.executable, *shlex.split(claim["prepare"])], cwd=ROOT, check=True)
        run_all(claim, given)
        result = judged(claim)
        RESULTS.mkdir(exist_ok=True)
        write_json(RESULTS / f"{name}.json", result)
        draw(result, claim, RESULTS / f"{name}.png")
        print(f"{name}: {result['verdict']}")
    (RESULTS.parent / "claims.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    if {"-h", "--help"} & {*sys.argv[1:]}:
        print(__doc__)
        sys.exit()
    with exit_on_error(APPLICATION):
        main(sys.argv[1:])
