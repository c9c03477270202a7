"""Searches of an application that is not ours: totals, kills, kinds of parameters, failures."""

import signal
import sys

import pytest
import yaml
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState, create_trial

from packages.programs import rows, study_of

APP = """
import hydra, os, pathlib, time

@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config):
    with open(config.log, "a") as log:
        log.write(f"{config.x} {config.kind} {os.getcwd()}\\n")
    exec(config.then)
    return eval(config.result)

main()
"""
CONFIG = {"x": 0, "kind": "a", "log": "${hydra:runtime.cwd}/log.txt", "then": "pass",
          "result": "(config.x - 2) ** 2 + (config.kind == 'b')"}  # fmt: skip
MENDED = CONFIG | {"hydra": {"job": {"config": {"override_dirname": {"exclude_keys": ["then"]}}}}}
"""Its results do not depend on `then`, which may be mended."""
SEARCH = ("-m", "hydra/sweeper=optuna", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=interval(0,5)",
          "kind=choice(a,b)")  # fmt: skip
GRID = (
    "-m",
    "hydra/sweeper=optuna",
    "hydra/sweeper/sampler=grid",
    "hydra/launcher=subprocess",
    "hydra.sweep.dir=out",
)
KILL = """
mark = pathlib.Path(config.log).with_name(f"killed {config.x}")
if pathlib.Path(config.log).read_text().count(chr(10)) in (2, 4) and not mark.exists():
    mark.touch(); os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)
"""
"""Kill the sweep and this job, in the second and third trial."""


def begun(app):
    return (app.folder / "log.txt").read_text().splitlines()


@pytest.mark.long
def test_a_search_goes_on_to_the_total(app):
    done = app(*SEARCH, "hydra.sweeper.n_trials=2", check=0)
    assert "best" in done.text
    first = rows(app.folder / "out" / "results.csv")
    app(*SEARCH, "hydra.sweeper.n_trials=2", check=0)
    app(*SEARCH, "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2", "hydra.launcher.n_jobs=2", check=0)
    found = rows(app.folder / "out" / "results.csv")
    assert len(begun(app)) == len(found) == 4
    assert found[:2] == first
    assert len({row["x"] for row in found}) == 4
    for row in found:
        assert float(row["result"]) == pytest.approx((float(row["x"]) - 2) ** 2 + (row["kind"] == "b"))
    best = min(found, key=lambda row: float(row["result"]))
    (solution,) = yaml.safe_load((app.folder / "out" / "optimization_results.yaml").read_text())["solutions"]
    assert solution["params"]["x"] == float(best["x"])


@pytest.mark.long
def test_a_killed_search_goes_on_as_an_undisturbed_one(app):
    app(*SEARCH, "hydra.sweeper.n_trials=4", "hydra.sweep.dir=whole", check=0)
    (app.folder / "log.txt").unlink()
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"then": KILL}))
    statuses = []
    while not statuses or statuses[-1] != 0:
        statuses.append(app(*SEARCH, "hydra.sweeper.n_trials=4").status)
        assert len(statuses) < 9
    assert statuses.count(-signal.SIGKILL) == len(statuses) - 1 == 2
    assert rows(app.folder / "out" / "results.csv") == rows(app.folder / "whole" / "results.csv")
    assert len(begun(app)) == 4 + 2


@pytest.mark.long
def test_commands_share_the_trials_of_a_study(app):
    search = [
        *SEARCH,
        "hydra.sweeper.n_trials=5",
        "hydra.sweeper.sampler._target_=optuna.samplers.RandomSampler",
    ]
    commands = [app.launch(*search) for _ in range(2)]
    assert [each.wait(300) for each in commands] == [0, 0], [each.text for each in commands]
    with study_of(app.folder) as study:
        assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 5
        assert len(begun(app)) == len(set(begun(app))) == 5


@pytest.mark.long
def test_kinds_of_parameters(app):
    space = {
        "x": "tag(log, interval(0.1, 5))",
        "kind": "a,b",
        "+depth": "range(1, 4)",
        "+width": "int(interval(3, 9))",
    }
    (app.folder / "conf" / "config.yaml").write_text(
        yaml.safe_dump({"defaults": [{"override hydra/sweeper": "optuna"}, "_self_"], **CONFIG,
                        "hydra": {"sweeper": {"params": space, "n_trials": 5, "direction": "maximize"}}})
    )  # fmt: skip
    app("-m", "hydra.sweep.dir=out", "hydra/launcher=subprocess", "hydra.launcher.n_jobs=2", "hydra.sweeper.n_jobs=2",
        check=0)  # fmt: skip
    found = rows(app.folder / "out" / "results.csv")
    assert {int(row["depth"]) for row in found} <= {1, 2, 3}
    assert all(3 <= int(row["width"]) <= 9 for row in found)
    assert all(0.1 <= float(row["x"]) <= 5 for row in found)
    assert {row["kind"] for row in found} == {"a", "b"}


REFUSED = [
    ("x=interval(3,1)", "x=interval(3,1): "),
    ("x=tag(log,interval(0,1))", "x=tag(log,interval(0,1)): "),
    ("x=tag(log,range(1,9,2))", "x=tag(log,range(1,9,2)): "),
    ("x=tag(loguniform,interval(1e-6,1))", "x=tag(loguniform,interval(1e-6,1)): the tag loguniform "),
    ("x=tag(Log,log,range(1,9))", "x=tag(Log,log,range(1,9)): the tag Log "),
    ("x=tag(log,choice(1,2))", "x=tag(log,choice(1,2)): a choice "),
    ("x=range(3,3)", "x=range(3,3): there is no number"),
    ("hydra.sweeper.n_jobs=0", "hydra.sweeper.n_jobs=0"),
    ("hydra.sweeper.n_trials=-1", "hydra.sweeper.n_trials=-1"),
    ("hydra.sweeper.direction=up", "hydra.sweeper.direction=up"),
    ("hydra.sweeper.max_runs=0", "hydra.sweeper.max_runs=0"),
    ("hydra.sweeper.max_failure_rate=-1", "hydra.sweeper.max_failure_rate=-1"),
    ("hydra.sweeper.max_failure_rate=nan", "hydra.sweeper.max_failure_rate=nan"),
    ("hydra/sweeper/sampler=grid", "hydra.sweeper.sampler._target_=optuna.samplers.BruteForceSampler: "),
    ("hydra/sweeper/sampler=cmaes", "hydra.sweeper.sampler._target_=optuna.samplers.CmaEsSampler: "),
    ("+hydra.sweeper.sampler.no_such=1", "hydra.sweeper.sampler._target_=optuna.samplers.TPESampler: "),
    ("+hydra.sweeper.pruner.no_such=1", "hydra.sweeper.pruner._target_=optuna.pruners.NopPruner: "),
    ("hydra.sweeper.storage=foo", "hydra.sweeper.storage=foo: "),
    ("hydra.sweeper.storage=sqlite:////nosuch/x.db", "hydra.sweeper.storage=sqlite:////nosuch/x.db: "),
    ("hydra.sweeper.params={kind:[a,b]}", "hydra.sweeper.params: kind has the list"),
]
"""What is typed, and with what the refusal begins."""


def test_a_space_that_is_none_and_senseless_values_are_refused(app, monkeypatch):
    monkeypatch.setitem(sys.modules, "cmaes", None)  # as where it is not installed
    more = "+y=interval(0,1)", "+z=interval(0,1)"
    texts = app.refusals(
        [[*(SEARCH[:-1] if "params" in given else SEARCH), *more, given] for given, _ in REFUSED]
    )
    for (given, said), text in zip(REFUSED, texts, strict=True):
        assert text.startswith(said), given
        assert "Traceback" not in text
    assert not (app.folder / "log.txt").exists()


def test_a_search_of_nothing_is_refused(app):
    given = ["x=3"], ["hydra.sweeper.params={x:3}"], []
    for text in app.refusals([[*GRID, *each, "hydra.sweeper.n_trials=3"] for each in given]):
        assert "nothing to search" in text.splitlines()[0]
        assert "Traceback" not in text
    assert not (app.folder / "log.txt").exists()


def test_what_is_left_out_of_the_best_settings_is_told(app):
    line = (*GRID, "hydra/launcher=basic", "result='[config.x, -config.x]'", "x=range(0,8)",
            "hydra.sweeper.direction=[minimize,minimize]")  # fmt: skip
    for num, more in ((5, 0), (8, 3)):
        last = app(*line, f"hydra.sweeper.n_trials={num}", check=0).text.splitlines()
        assert sum(each.startswith("best ") for each in last) == 5
        assert (f"and {more} more" in last[-1]) == bool(more)


@pytest.mark.long
@pytest.mark.parametrize(
    ("space", "values"),
    [
        ("x=range(4,0,-1)", ["1", "2", "3", "4"]),
        ("x=range(0,1,0.3)", ["0.0", "0.3", "0.6", "0.9"]),
        ("x=range(1,0,-0.3)", ["0.1", "0.4", "0.7", "1.0"]),
        ("x=range(0,0.5,0.1)", ["0.0", "0.1", "0.2", "0.3", "0.4"]),
    ],
)
def test_a_range_is_searched_without_its_end(space, values, app):
    app(*GRID, space, "hydra/launcher=basic", "hydra.sweeper.n_trials=9", check=0)
    assert sorted(row["x"] for row in rows(app.folder / "out" / "results.csv")) == values


def test_another_search_in_the_folder_of_one_is_refused(app):
    app(*SEARCH, "then='0'", "hydra.sweeper.n_trials=1", check=0)
    others = {
        "hydra.sweeper.direction=maximize": "maximize",
        "then='1'": "then='1'",
        "kind=b": "kind=b",
        "x=1,2": "x",
        "x=tag(log,interval(1,5))": "x",
        "kind=a,b,c": "kind",
        "+depth=1,2": "depth",
    }
    texts = app.refusals([*SEARCH, "then='0'", given, "hydra.sweeper.n_trials=2"] for given in others)
    for said, text in zip(others.values(), texts, strict=True):
        assert said in text.splitlines()[0].partition("this command ")[2]
        assert "Traceback" not in text
    app(*SEARCH, "then='0'", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=2", "x=interval(0,9)",
        "hydra/launcher=basic", "hydra/sweeper/sampler=random", check=0)  # fmt: skip
    assert len(begun(app)) == len(rows(app.folder / "out" / "results.csv")) == 2


def test_another_space_or_metric_is_refused_before_a_run_is_run_again(app):
    config = app.folder / "conf" / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"metric": "loss", "then": "1/0"}))
    app(*SEARCH, check=1)
    done = app(*SEARCH, "+depth=1,2", check=1)
    assert "depth" in done.text.splitlines()[0]
    assert "Traceback" not in done.text
    config.write_text(yaml.safe_dump(CONFIG | {"metric": "accuracy"}))
    done = app(*SEARCH, check=1)
    assert "loss" in done.text.splitlines()[0]
    assert "accuracy" in done.text.splitlines()[0]
    assert len(begun(app)) == 1


def test_results_of_another_configuration_are_not_mixed(app):
    config = app.folder / "conf" / "config.yaml"
    nested = CONFIG | {"model": {"size": 3, "name": "${kind}"}}
    config.write_text(yaml.safe_dump(nested | {"then": "1/0"}))
    app(*SEARCH, "hydra.sweeper.n_trials=1", check=1)  # no result, so it may be mended
    config.write_text(yaml.safe_dump(nested))
    app(*SEARCH, "hydra.sweeper.n_trials=1", check=0)
    config.write_text(yaml.safe_dump(nested | {"model": {"size": 4, "name": "${kind}"}}))
    done = app(*SEARCH, "hydra.sweeper.n_trials=2", check=1)
    assert "has results with model.size=3, which is 4 now" in done.text.splitlines()[0]
    assert "Traceback" not in done.text
    config.write_text(yaml.safe_dump(nested | {"x": 7}))  # which is searched
    app(*SEARCH, "hydra.sweeper.n_trials=2", check=0)
    assert len(rows(app.folder / "out" / "results.csv")) == 2


def test_one_group_in_two_packages(app):
    (app.folder / "conf" / "db").mkdir()
    for number, name in enumerate(("one", "two"), 1):
        (app.folder / "conf" / "db" / f"{name}.yaml").write_text(f"v: {number}")
    groups = {"defaults": [{"db@left": "one"}, {"db@right": "one"}, "_self_"]}
    result = {"result": "10 * config.left.v + config.right.v"}
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(groups | CONFIG | result))
    app(*GRID, "hydra/launcher=basic", "db@left=one,two", "db@right=one,two", check=0)
    found = {
        (row["db@left"], row["db@right"]): row["result"] for row in rows(app.folder / "out" / "results.csv")
    }
    assert found == {
        ("one", "one"): "11.0",
        ("one", "two"): "12.0",
        ("two", "one"): "21.0",
        ("two", "two"): "22.0",
    }
    app(
        *GRID,
        "hydra/launcher=basic",
        "hydra.sweep.dir=other",
        "db@left=two",
        "db@right=two",
        "x=1,2",
        check=0,
    )
    assert [row["result"] for row in rows(app.folder / "other" / "results.csv")] == ["22.0", "22.0"]


REPORT = """then='from hydra_plugins.hydra_subprocess_launcher import report
with open(config.log) as log: config.x = SIGN * len(log.readlines())
for step in range(4): report(config.x, step)'"""
"""Report the number of jobs that have begun, or its negative."""


@pytest.mark.long
def test_reports_of_another_job_in_its_folder_do_not_end_a_job(app):
    search = [*GRID, "hydra/sweeper/pruner=median", "hydra.sweeper.pruner.n_startup_trials=1", "x=1,2,3",
              "result=config.x"]  # fmt: skip
    app(*search, REPORT.replace("SIGN", "1"), "hydra.sweeper.study_name=worse_and_worse", check=0)
    app(*search, REPORT.replace("SIGN", "-1"), "hydra.sweeper.study_name=better_and_better", check=0)
    ends = {(row["study"], row["status"]) for row in rows(app.folder / "out" / "results.csv")}
    assert {status for study, status in ends if study == "better_and_better"} == {"complete"}
    assert ("worse_and_worse", "pruned") in ends


@pytest.mark.parametrize(
    ("launcher", "result", "directions"),
    [
        ("basic", "numpy.float32(config.x / 2)", "minimize"),
        ("subprocess", "numpy.array(config.x / 2)", "minimize"),
        ("basic", "(config.x / 2, numpy.float32(3))", "[minimize,maximize]"),
        ("subprocess", "(config.x / 2, numpy.float32(3))", "[minimize,maximize]"),
    ],
)
def test_numbers_of_other_libraries_and_tuples_are_results(launcher, result, directions, app):
    result = result.replace("numpy", '__import__("numpy")')
    app(*GRID, f"hydra/launcher={launcher}", "x=1,3", f"result='{result}'", f"hydra.sweeper.direction={directions}",
        check=0)  # fmt: skip
    found = {row["x"]: row["result"] for row in rows(app.folder / "out" / "results.csv")}
    assert found == (
        {"1": "0.5", "3": "1.5"} if directions == "minimize" else {"1": "[0.5, 3.0]", "3": "[1.5, 3.0]"}
    )


def test_a_result_that_does_not_fit_the_directions_is_a_failure(app):
    rows = (
        ("[1.0,2.0]", "minimize", "a finite number"),
        ("1.0", "[minimize,maximize]", "2 finite numbers"),
        ("str(config.x)", "minimize", "a finite number"),
    )
    texts = app.refusals(
        [*GRID, "x=1,3", f"result='{result}'", f"hydra.sweeper.direction={directions}", "hydra/launcher=basic",
         f"hydra.sweep.dir=out{number}"]
        for number, (result, directions, _) in enumerate(rows)
    )  # fmt: skip
    for (_, _, wanted), text in zip(rows, texts, strict=True):
        assert "its result is" in text
        assert f"it must be {wanted}" in text


def test_keys_with_the_name_of_a_column_have_one_of_their_own(app):
    done = app(*GRID, "hydra/launcher=basic", "+trial=7,8", "+status=new,old", "+folder=here,there", check=0)
    found = rows(app.folder / "out" / "results.csv")
    assert [row["trial"] for row in found] == [str(number) for number in range(8)]
    assert {row["status"] for row in found} == {"complete"}
    keys = [tuple(row[f"{key} (key)"] for key in ("trial", "status", "folder")) for row in found]
    assert len(set(keys)) == 8
    assert "folder (key)" in done.text


@pytest.mark.long
@pytest.mark.parametrize("search_first", [False, True])
def test_a_grid_and_a_search_of_one_folder_keep_each_other_s_results(search_first, app):
    grid = ("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "hydra.sweep.subdir=grid-${x}", "x=3,4",
            "+trial=9")  # fmt: skip
    search = (*GRID, "x=5,6")
    first, second = (search, grid) if search_first else (grid, search)
    for _ in range(2):  # the second time nothing is added
        app(*first, check=0)
        app(*second, check=0)
    found = rows(app.folder / "out" / "results.csv")
    assert sorted((row["x"], row["trial"], bool(row["folder"])) for row in found) == [
        ("3", "", True), ("4", "", True), ("5", "0", False), ("6", "1", False)]  # fmt: skip


@pytest.mark.long
def test_two_studies_of_one_folder_keep_each_other_s_results(app):
    for _ in range(2):  # the second time nothing is added
        for study, values in (("first", "1,2"), ("second", "3,4"), (None, "5,6")):
            app(
                *GRID,
                f"x={values}",
                *([] if study is None else [f"hydra.sweeper.study_name={study}"]),
                check=0,
            )
    found = [(row["study"], row["trial"], row["x"]) for row in rows(app.folder / "out" / "results.csv")]
    assert found == [("first", "0", "1"), ("first", "1", "2"), ("second", "0", "3"), ("second", "1", "4"),
                     ("", "0", "5"), ("", "1", "6")]  # fmt: skip


@pytest.mark.long
def test_failed_trials_are_run_again_or_counted(app):
    config = app.folder / "conf" / "config.yaml"
    fail = yaml.safe_dump(MENDED | {"then": "1/0 if config.x > 1 else 0"})
    config.write_text(fail)
    done = app(*SEARCH, "hydra.sweeper.n_trials=3")
    assert done.status == 1
    assert "ZeroDivisionError" in done.text
    num = len(begun(app))
    config.write_text(yaml.safe_dump(MENDED))
    app(*SEARCH, "hydra.sweeper.n_trials=3", check=0)
    assert {row["status"] for row in rows(app.folder / "out" / "results.csv")} == {"complete"}
    assert len(begun(app)) == num + 3 - (num - 1)
    config.write_text(fail)
    app(*SEARCH, "hydra.sweeper.n_trials=6", "hydra.sweeper.max_failure_rate=1", check=0)
    assert "fail" in {row["status"] for row in rows(app.folder / "out" / "results.csv")}
    assert len(rows(app.folder / "out" / "results.csv")) == 6


def test_an_enqueued_trial_is_run_and_a_result_of_nan_is_a_failure(app):
    (app.folder / "out").mkdir()
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(MENDED))
    with study_of(app.folder) as study:
        study.enqueue_trial({"x": 1.5, "kind": "b"})
        app(*SEARCH, "hydra.sweeper.n_trials=0", check=0)
        app(*SEARCH, "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=2", check=0)
        assert [line[:6] for line in begun(app)].count("1.5 b ") == 1
        assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 2
        config = MENDED | {"then": "config.x = float('nan')"}
        (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(config))
        done = app(*SEARCH, "hydra.sweeper.n_trials=3", check=1)
        assert "its result is nan" in done.text
        assert len(study.trials) == 3


def test_known_values_come_first_and_once(app):
    first = "hydra.sweeper.enqueue=[{x:4,kind:b},{x:1.5}]"
    for num in (1, 3, 3, 4):  # the same command again adds nothing
        app(*SEARCH, first, f"hydra.sweeper.n_trials={num}", "hydra/launcher=basic", check=0)
    (app.folder / "out" / "optuna.db").rename(app.folder / "earlier.db")
    app(*SEARCH, first, "hydra.sweeper.n_trials=4", "hydra/launcher=basic", check=0)
    settings = [tuple(line.split()[:2]) for line in begun(app)]
    assert settings[0] == ("4.0", "b")
    assert settings[1][0] == "1.5"
    assert len({*settings}) == 4
    assert settings[4:] == settings[:4]  # in one command as in several
    more = "hydra.sweeper.enqueue=[{x:2,kind:a}]"
    app(*SEARCH, more, "hydra.sweeper.n_trials=5", "hydra/launcher=basic", check=0)
    assert begun(app)[-1].startswith("2.0 a ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[{x:9,kind:a}]", "9.0"),
        ("[{x:low}]", "low"),
        ("[{kind:c}]", "c"),
        ("[{depth:1}]", "depth is not searched"),
        ('[{kind:"a,b"}]', "kind"),
        ("[x]", "x"),
    ],
)
def test_known_values_outside_of_the_space_are_refused(given, said, app):
    done = app(*SEARCH, f"hydra.sweeper.enqueue={given}", check=1)
    assert done.text.startswith("hydra.sweeper.enqueue: ")
    assert said in done.text.splitlines()[0]
    assert "Traceback" not in done.text
    assert not (app.folder / "log.txt").exists()


@pytest.mark.long
def test_a_search_goes_on_from_the_finished_runs_of_a_grid(app):
    result = "config.x + config.seed / 100 + 0 / (config.seed + config.x < 5)"
    config = CONFIG | {"seed": 1, "result": result, "metric": "loss"}
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(config))
    grid = ("-m", "hydra/launcher=subprocess", "hydra.launcher.n_jobs=2")
    app(*grid, "hydra.sweep.dir=grid", "x=1,2,3", "seed=1,2", check=1)  # one fails
    app(*grid, "hydra.sweep.dir=grid/other", "x=2", "seed=1,2", "metric=other", check=0)
    app("x=-9", "hydra.run.dir=grid/2", check=0)  # another configuration in the folder of x=2 seed=1
    space = {"x": CategoricalDistribution(["1", "2", "3"])}
    (app.folder / "out").mkdir()
    with study_of(app.folder) as study:  # as a kill leaves it that comes between a setting and its runs
        study.add_trial(create_trial(state=TrialState.RUNNING, params={"x": "3"}, distributions=space))
    search = (*GRID, "x=1,2,3", "hydra.sweeper.start_from=grid", "hydra.sweeper.seeds=2", "hydra.sweeper.max_failure_rate=1",
              "hydra.launcher.n_jobs=2", "hydra.sweeper.n_jobs=2")  # fmt: skip
    before = begun(app)
    done = app(*search, "hydra.sweeper.n_trials=0", "hydra.sweeper.max_runs=1", check=0)
    assert "takes over 3 finished runs" in done.text
    found = {row["x"]: row["values"] for row in rows(app.folder / "out" / "results.csv")}
    assert found == {"1": "1.01 1.02", "3": "3.01"}
    assert begun(app) == before
    done = app(*search, "hydra.sweeper.n_trials=3", check=0)
    assert "takes over" not in done.text
    assert sorted(line[0] for line in begun(app)[len(before) :]) == ["2", "2"]
    done = app(*search, "hydra.sweep.dir=grid", check=1)
    assert "overwrite" in done.text.splitlines()[0]
    assert "no such folder" in app(*search, "hydra.sweeper.start_from=nowhere", check=1).text.splitlines()[0]
