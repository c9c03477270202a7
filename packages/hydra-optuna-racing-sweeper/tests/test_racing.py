"""Searches over settings with several seeds, and with runs that are ended early, of an application that is not ours."""

import csv
import random
import runpy
import signal
from collections import Counter
from math import nan
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import optuna
import pytest
from omegaconf import OmegaConf
from optuna.trial import TrialState
from scipy.stats import t, ttest_rel

from hydra_plugins.hydra_optuna_racing_sweeper import clearly_worse, next_settings, verdict
from hydra_plugins.hydra_optuna_racing_sweeper._racing import p_of_worse
from hydra_plugins.hydra_optuna_racing_sweeper.optuna_racing_sweeper import Run, Search
from packages.programs import study_of

APP = """
import hydra, os, pathlib, random
from hydra_plugins.hydra_subprocess_launcher import report

@hydra.main(version_base="1.3", config_path=None, config_name="config")
def main(config):
    log = pathlib.Path(config.log)
    with log.open("a") as file:
        file.write(f"{config.x} {config.seed}\\n")
    exec(config.then)
    for step in range(3):
        report(config.x * (step + 1), step)
    return config.x + random.Random(f"{config.x} {config.seed}").gauss(0, 0.1)

from hydra.core.config_store import ConfigStore
ConfigStore.instance().store("config", {"x": 0, "seed": 0, "log": "${hydra:runtime.cwd}/log.txt", "then": "pass"})
main()
"""
SETTINGS = "x=1,2,7,8"
RACE = ("-m", "hydra/sweeper=optuna", "hydra/launcher=basic", "hydra/sweeper/sampler=grid", "hydra.sweep.dir=out", SETTINGS,
        "hydra.sweeper.seeds=3", "hydra.sweeper.direction=maximize", "hydra.sweeper.n_trials=4")  # fmt: skip
KILL = """
mark = log.with_name(f"killed {config.x} {config.seed}")
if len(log.read_text().split(chr(10))) in (3, 6) and not mark.exists():
    mark.touch(); os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)
"""
"""Kill the sweep and this job, in the second and fifth run."""


def rows(path):
    with path.open(newline="") as file:
        return {row["x"]: row for row in csv.DictReader(file)}


def begun(app):
    return [tuple(line.split()) for line in (app.folder / "log.txt").read_text().splitlines()]


def test_settings_that_are_clearly_worse_get_no_further_seeds(app):
    done = app(*RACE, check=0)
    count = Counter(x for x, _ in begun(app))
    assert len(set(begun(app))) == len(begun(app))
    assert count == {"1": 1, "2": 1, "7": 3, "8": 3}
    found = rows(app.folder / "out" / "results.csv")
    assert {x: int(row["runs"]) for x, row in found.items()} == count
    for row in found.values():
        assert float(row["result"]) == pytest.approx(fmean(map(float, row["values"].split())))
    with study_of(app.folder) as study:
        assert study.best_value == float(found["8"]["result"])
        values = [list(map(float, found[x]["values"].split())) for x in ("8", "7", "2", "1")]
        p = verdict([each + [nan] * (3 - len(each)) for each in values], 3).p
        best = next(line for line in done.text.splitlines() if line.startswith("best "))
        assert "x=8" in best
        assert "8 runs" in best
        assert f"p = {p:.3f} at any number of looks" in done.text
        assert "clearly better than all others" in done.text
        assert app(*RACE, check=0).text.splitlines()[-1] == done.text.splitlines()[-1]
        assert Counter(x for x, _ in begun(app)) == count


@pytest.mark.parametrize(
    ("runs", "reason"), [(9, "no variation between seeds"), (2, "too few seeds to compare")]
)
def test_the_reason_why_two_settings_cannot_be_compared(runs, reason, app):
    script = app.folder / "app.py"
    script.write_text(script.read_text().replace("gauss(0, 0.1)", "gauss(0, 0)"))
    done = app(*RACE, "x=1,2", f"hydra.sweeper.max_runs={runs}", check=0)
    assert done.text.splitlines()[-1].endswith(f"with {reason}")


def test_a_limit_of_runs_leaves_it_open(app):
    app(*RACE, "hydra.sweeper.max_runs=5", check=0)
    assert Counter(x for x, _ in begun(app)) == {"1": 1, "2": 1, "7": 1, "8": 2}


def test_a_setting_that_fails_is_named_with_the_way_on(app):
    done = app(*RACE, "x=1,2", "then='1 / (config.x < 2)'", check=1)
    assert "x=2 seed=1; hydra.sweeper.max_failure_rate=1 goes on without this setting" in done.text


@pytest.mark.parametrize("seeds", ["1", "null"])
def test_nothing_runs_twice_with_a_seed(seeds, app):
    sampler = "hydra.sweeper.sampler._target_=optuna.samplers.RandomSampler"
    app("-m", "hydra/sweeper=optuna", "hydra/launcher=basic", "hydra.sweep.dir=out", sampler, "x=1,2", f"hydra.sweeper.seeds={seeds}",
        "hydra.sweeper.n_trials=6", check=0)  # fmt: skip
    assert sorted(x for x, _ in begun(app)) == ["1", "2"]


@pytest.mark.long
def test_commands_at_the_same_time_end_with_the_same_sentence(app):
    slow = "then='import time; time.sleep(1)'"
    commands = [app.launch(*RACE, slow) for _ in range(2)]
    assert [each.wait(300) for each in commands] == [0, 0], [each.text for each in commands]
    one, other = (each.text.splitlines()[-1] for each in commands)
    assert one == other
    assert "at any number of looks" in one
    assert len(set(begun(app))) == len(begun(app))


@pytest.mark.long
def test_a_setting_with_a_failed_run_is_not_the_best(app):
    fail = "then='1 / (config.x < 8 or config.seed < 2)'"
    done = app(*RACE, fail, "hydra.sweeper.max_failure_rate=1", "hydra/launcher=subprocess", check=0)
    found = rows(app.folder / "out" / "results.csv")
    assert found["8"]["status"] == "fail"
    assert next(line for line in done.text.splitlines() if line.startswith("best ")).count("x=7")


@pytest.mark.long
def test_a_killed_search_that_prunes_ends_as_an_undisturbed_one(app):
    search = [*RACE, "x=1,6,7,8", "hydra/launcher=subprocess", "hydra/sweeper/pruner=median",
              "hydra.sweeper.pruner.n_startup_trials=2"]  # fmt: skip
    app(*search, "hydra.sweep.dir=whole", check=0)
    whole = rows(app.folder / "whole" / "results.csv")
    runs = len(begun(app))
    (app.folder / "log.txt").unlink()
    statuses = []
    while not statuses or statuses[-1] != 0:
        statuses.append(app(*search, f"then='{KILL}'").status)
        assert len(statuses) < 9
    assert statuses.count(-signal.SIGKILL) == len(statuses) - 1 == 2
    assert rows(app.folder / "out" / "results.csv") == whole
    assert len(begun(app)) == runs + 2
    pruned = [row for row in whole.values() if row["status"] == "pruned"]
    assert pruned
    assert all(row["runs"] == "1" and not row["result"] for row in pruned)


WAIT = """
import signal, sys, time
report(config.x - 9, 0)
signal.signal(signal.SIGTERM, lambda *_, log=log, sys=sys: (log.with_name("saved").touch(), sys.exit(143)))
end = time.monotonic() + 60
while config.x < 7 and time.monotonic() < end: time.sleep(0.01)
"""
"""Report, and go on for long in a bad setting."""


def test_a_run_that_is_pruned_can_save_its_state(app):
    search = [*RACE, "hydra.sweeper.seeds=null", "hydra/launcher=subprocess", "hydra/sweeper/pruner=median",
              "hydra.sweeper.pruner.n_startup_trials=1", f"then='{WAIT}'"]  # fmt: skip
    app(*search, "hydra.sweeper.n_trials=0", check=0)
    with study_of(app.folder) as study:
        study.enqueue_trial({"x": "7"})
        study.enqueue_trial({"x": "1"})
        app(*search, "hydra.sweeper.n_trials=2", check=0)
        assert (app.folder / "saved").exists()
        assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED"]


REFUSED = {
    "hydra.sweeper.seeds=0": "hydra.sweeper.seeds=0",
    "hydra.sweeper.seeds=[1,1]": "hydra.sweeper.seeds=[1, 1]",
    "hydra.sweeper.seeds=many": "hydra.sweeper.seeds=many",
    "seed=1,2": "seed is swept over",
    "seed=9": "seed=9",
    "hydra.sweeper.direction=[minimize,maximize]": "hydra.sweeper.seeds",
    "hydra/sweeper/pruner=median": "hydra/sweeper/pruner",
}


def test_what_cannot_be_searched_is_refused_before_the_first_run(app):
    texts = app.refusals([*RACE, given] for given in REFUSED)
    for key, text in zip(REFUSED.values(), texts, strict=True):
        assert key in text.splitlines()[0]
    assert not (app.folder / "log.txt").exists()


def test_simulated_searches_find_the_best_with_half_of_the_runs_and_are_seldom_wrong():
    # 300 searches each: python benchmarks/racing.py
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    simulation = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "racing.py"))
    found = simulation["found_shares"](12, 5, max_runs=24)
    assert found["runs"] <= 24
    assert found["found"] > 0.6
    assert simulation["wrong_share"](40, 4, 3, prunes=True, crash=0.1) <= 0.1


def test_two_settings_with_all_seeds_are_compared_as_paired_samples():
    draw = np.random.default_rng(1)
    results = draw.normal(size=(2, 5)) + draw.normal(0, 30, 5)
    better, worse = sorted(results, key=np.mean)[::-1]
    found = verdict([worse, better], 5)
    assert (found.best, found.second) == (1, 0)
    assert found.p == pytest.approx(min(1, 5 * ttest_rel(better, worse, alternative="greater").pvalue))
    assert found.difference == pytest.approx(np.mean(better - worse))


def test_runs_that_are_not_there_are_fitted():
    # settings 0 and 1 with three seeds; setting 2 with the first: its fitted effect is its result minus that of seed 1
    results = np.array([[10.0, 12.0, 17.0], [10.5, 11.0, 16.5], [4.0, nan, nan]])
    design = np.array(
        [
            [1, 0, 0, 0, 0],
            [1, 0, 0, 1, 0],
            [1, 0, 0, 0, 1],
            [0, 1, 0, 0, 0],
            [0, 1, 0, 1, 0],
            [0, 1, 0, 0, 1],
            [0, 0, 1, 0, 0],
        ]
    )
    values = results[~np.isnan(results)]
    effects, (left,), _, _ = np.linalg.lstsq(design, values, rcond=None)
    contrast = np.array([1, 0, -1, 0, 0])
    error = (contrast @ np.linalg.inv(design.T @ design) @ contrast * left / 2) ** 0.5
    p = t.sf((effects[0] - effects[2]) / error, 2) * 2 * 3
    found, gaps = p_of_worse(results, 3)
    assert gaps[2, 0] == pytest.approx(effects[0] - effects[2])
    assert found[2] == pytest.approx(p)
    assert clearly_worse(results, 3, p * 1.01) == [False, False, True]
    assert next_settings([[1.0], [3.0], [2.0]], 2) == [1, 2, 0]
    assert next_settings([[1.0]], 2) == [0]
    assert next_settings(results - [[0], [0], [-5]], 3) == [2]  # it may be as good
    assert next_settings(results - [[0], [0], [90]], 3) == []
    assert not verdict([[1.0], [2.0]], 2).is_clear
    assert verdict([[1.0]], 2).second is None
    for same in ([[1.1] * 3, [0.3] * 3], [[0.0] * 3] * 2):  # no variation
        assert np.isnan(verdict(same, 3).p)


def test_the_sentence_is_that_of_the_race():
    # ten settings, one better by ten standard deviations: the race drops the others, and says that it is the best
    for draw in np.random.default_rng(3).spawn(5):
        true = draw.normal(size=(10, 10))
        true[4] += 10
        results = np.full((10, 10), nan)
        results[:, 0] = true[:, 0]
        while order := next_settings(results, 10):
            seed = np.count_nonzero(~np.isnan(results[order[0]]))
            results[order[0], seed] = true[order[0], seed]
        assert np.isnan(results).sum() > 50
        found = verdict(results, 10)
        assert found.best == 4
        assert found.is_clear


@pytest.mark.long
@pytest.mark.parametrize("seeds", ["1", "3"])
def test_a_grid_that_is_smaller_than_the_number_of_trials_is_run_once(app, seeds):
    race = [each for each in RACE if "n_trials" not in each and "seeds" not in each]
    done = app(*race, f"hydra.sweeper.seeds={seeds}", check=0)
    assert {x for x, _ in begun(app)} == {"1", "2", "7", "8"}
    assert len(set(begun(app))) == len(begun(app))
    assert len(rows(app.folder / "out" / "results.csv")) == 4
    assert "x=8" in next(line for line in done.text.splitlines() if line.startswith("best "))


PRUNERS = {
    "halving": {"_target_": "optuna.pruners.SuccessiveHalvingPruner", "min_resource": 1},
    "hyperband": {"_target_": "optuna.pruners.HyperbandPruner", "min_resource": 1, "max_resource": 16},
    "median": {"_target_": "optuna.pruners.MedianPruner"},
}


def ends_of(pruner, curves, *, in_one_command):
    """The steps at which runs that report these curves, one run after the other, are ended; None: not."""
    study, ends = optuna.create_study(study_name="a", direction="maximize"), []
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    settings = SimpleNamespace(pruner=OmegaConf.create(pruner), study_name=None, n_jobs=1)
    search = Search(study, space, [None], settings)
    for number, curve in enumerate(curves):
        search = search if in_one_command else Search(study, space, [None], settings)
        study.add_trial(
            optuna.trial.create_trial(
                state=TrialState.RUNNING, params={"x": number / 100}, distributions=space
            )
        )
        run = Run(number, number)
        search.write(run)
        judge, reports = search.judges([run]), [*enumerate(curve, start=1)]
        ends.append(next((step for step, _ in reports if judge(0, reports[:step])), None))
        run.status, run.values = ("complete", [curve[-1]]) if ends[-1] is None else ("pruned", None)
        search.write(run)
        search.settle()
    return ends


@pytest.mark.parametrize("name", PRUNERS)
def test_a_pruner_decides_the_same_in_one_command_as_after_interruptions(name):
    draw = random.Random(5)
    for _ in range(6):
        best = [draw.random() for _ in range(20)]
        curves = [[draw.random() / 10 + each * (1 - 0.5**step) for step in range(1, 17)] for each in best]
        at_once = ends_of(PRUNERS[name], curves, in_one_command=True)
        assert any(at_once)
        assert at_once == ends_of(PRUNERS[name], curves, in_one_command=False)


def test_a_folder_of_any_name_has_a_study_of_its_own(app):
    for name in ("q?b", "q?c", "q%41"):
        app("-m", "hydra/sweeper=optuna", f"hydra.sweep.dir='out {name}'", "hydra.sweeper.n_trials=2",
            "x=interval(0,1)", check=0)  # fmt: skip
        assert (app.folder / f"out {name}" / "optuna.db").is_file()
    assert len(begun(app)) == 6
