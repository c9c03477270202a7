"""Grids of an application that is not ours, whose jobs are commands of their own."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from hydra_plugins.hydra_subprocess_launcher import print_table, write_results
from packages.programs import fork, rows

APP = """
import hydra, os, pathlib, time

@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config):
    with open(config.log, "a") as log:
        log.write(f"{config.x} {config.kind} {os.getcwd()}\\n")
    exec(config.then)
    return (config.x - 2) ** 2 + (config.kind == "b")

main()
"""
CONFIG = {"x": 0, "kind": "a", "log": "${hydra:runtime.cwd}/log.txt", "then": "pass"}


def begun(app):
    return (app.folder / "log.txt").read_text().splitlines()


def test_a_grid_ends_with_a_table_and_is_added_to(app):
    grid = ["-m", "hydra/launcher=subprocess", "hydra.launcher.n_jobs=2", "hydra.sweep.dir=out",
            "hydra.sweep.subdir=x-${x}"]  # fmt: skip
    done = app(*grid, "x=1,4", "kind=b", check=0)
    assert ["4", "5", "completed"] in [line.split() for line in done.text.splitlines()]
    app(*grid, "x=4,5", "kind=b", check=0)
    found = {row["x"]: row for row in rows(app.folder / "out" / "results.csv")}
    assert {x: int(row["result"]) for x, row in found.items()} == {"1": 2, "4": 5, "5": 10}


def test_a_table_that_no_sweep_has_written_stays_and_an_empty_list_is_said(app):
    (app.folder / "out").mkdir()
    (app.folder / "out" / "results.csv").write_text("mine\n")
    grid = ["-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out"]
    for given, said in (("x=1,4", "results.csv is no table of a sweep"), ("x=range(1,1)", "there is no job")):
        done = app(*grid, given, check=1)
        assert said in done.text
        assert "Traceback" not in done.text
    assert (app.folder / "out" / "results.csv").read_text() == "mine\n"
    assert not (app.folder / "log.txt").exists()


def test_the_line_of_a_job_that_starts_names_the_file_of_its_output(app):
    done = app(
        "-m",
        "hydra/launcher=subprocess",
        "hydra.sweep.dir='my out'",
        "x=1,4",
        "then='print(config.x)'",
        check=0,
    )
    lines = [line for line in done.text.splitlines() if line.endswith("job.log")]
    assert [(app.folder / line.partition(": ")[2]).read_text() for line in lines] == ["1\n", "4\n"]


@pytest.mark.long
@pytest.mark.parametrize("name", [r"a\b", r"end\\", "it's", r"it\'s", '"q"', "a=b,c {d} [e]"])
def test_results_are_found_in_a_folder_of_any_name(name, app):
    typed = re.sub(r'(\\*)("|$)', lambda found: 2 * found[1] + ('\\"' if found[2] else ""), name)
    app("-m", "hydra/launcher=subprocess", f'hydra.sweep.dir="{typed}"', "x=1,4", check=0)
    assert [row["result"] for row in rows(app.folder / name / "results.csv")] == ["1", "4"]


def test_less_than_one_job_at_a_time_is_refused(app):
    done = app("-m", "hydra/launcher=subprocess", "hydra.launcher.n_jobs=-1", "x=1,4", check=1)
    assert "hydra.launcher.n_jobs=-1" in done.text.splitlines()[0]


@pytest.mark.parametrize(("words", "head"), [(["+metric=loss"], "loss"), (["+metric=loss,x"], "result")])
def test_the_table_names_the_metric_of_the_application(words, head, app):
    done = app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1,4", *words, check=0)
    (line,) = [line.split() for line in done.text.splitlines() if line.split()[-1:] == ["status"]]
    assert line[-2] == head


@pytest.mark.long
def test_every_row_says_of_which_metric_it_is(app):
    config = app.folder / "conf" / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"metric": "loss"}))
    line = ("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "hydra.sweep.subdir=x-${x}",
            "hydra.job.config.override_dirname.exclude_keys=[metric]")  # fmt: skip
    app(*line, "x=1,2", "metric=error", check=0)
    app(*line, "x=2,3", check=0)
    done = app(*line, "x=4", "metric=loss,error", "hydra.sweep.subdir=${metric}", check=0)
    found = [(row["x"], row["metric"]) for row in rows(app.folder / "out" / "results.csv")]
    assert found == [("1", "error"), ("2", "loss"), ("3", "loss"), ("4", "loss"), ("4", "error")]
    assert ["loss", "4", "completed"] in [line.split() for line in done.text.splitlines()]


@pytest.mark.parametrize(("gpus", "jobs"), [("01", None), ("456", 1), ("456", 5)])
def test_all_gpus_are_used_in_turn(gpus, jobs, app):
    num = [] if jobs is None else [f"hydra.launcher.n_jobs={jobs}"]
    tell = """then='mine = pathlib.Path(config.log).with_name("gpu " + os.environ["CUDA_VISIBLE_DEVICES"])
mine.touch()
end = time.monotonic() + 60
while len(list(mine.parent.glob("gpu *"))) < TOGETHER:
    assert time.monotonic() < end
    time.sleep(0.01)'"""
    # without a number of jobs each waits for the other GPUs
    tell = tell.replace("TOGETHER", "0" if jobs else str(len(gpus)))
    app(
        "-m",
        "hydra/launcher=subprocess",
        "x=1,2,3",
        f"hydra.launcher.gpus=[{','.join(gpus)}]",
        *num,
        tell,
        check=0,
    )
    assert {path.name[4:] for path in app.folder.glob("gpu *")} == {*gpus}


def test_the_table_has_the_columns_of_all_rows(capsys):
    print_table([{"trial": 0, "result": None}, {"trial": 1, "x": 7, "result": 3}])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["trial", "result", "x"], ["0"], ["1", "3", "7"]]  # fmt: skip


def test_rows_that_are_of_no_sweep_stay_in_the_table(tmp_path):
    (tmp_path / "results.csv").write_text("note,result\nmine,1\nyours,2\n")
    for _ in range(2):
        write_results(tmp_path, [{"folder": "a", "result": 3}])
    rows = (tmp_path / "results.csv").read_text().splitlines()
    assert rows == ["note,result,folder", "mine,1,", "yours,2,", ",3,a"]


def test_rows_of_sweeps_that_end_at_the_same_moment_are_all_in_the_table(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write_results(tmp_path, [{"folder": f"job {n}", "result": n}]), range(100)))
    assert {row["result"] for row in rows(tmp_path / "results.csv")} == {str(n) for n in range(100)}


def test_jobs_are_given_what_the_command_line_says(app):
    (app.folder / "more" / "group").mkdir(parents=True)
    (app.folder / "more" / "group" / "mine.yaml").write_text("# @package _global_\nkind: mine\n")
    app("-m", "--config-dir", "more", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "hydra.job.chdir=true",
        "+group=mine", "x=1,2", check=0)  # fmt: skip
    assert [line.split()[1] for line in begun(app)] == ["mine", "mine"]
    assert [line.rpartition("/")[2] for line in begun(app)] == ["0", "1"]


def test_a_failed_job_does_not_end_the_others_and_its_error_is_shown(app):
    done = app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1,2,3", "then='1/(config.x - 2)'")
    assert done.status == 1
    assert "ZeroDivisionError" in done.text
    results = app.folder / "out" / "results.csv"
    assert [row["status"] for row in rows(results)] == ["completed", "failed", "completed"]
    (app.folder / "out" / "x-5").touch()  # where the folder of a job is to be
    app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=4,5,6",
        "hydra.sweep.subdir=x-${x}")  # fmt: skip
    assert [row["status"] for row in rows(results)][3:] == ["completed", "failed", "completed"]


def test_the_reason_of_a_failure_is_what_this_start_printed(app):
    line = [
        "-m",
        "hydra/launcher=subprocess",
        "hydra.sweep.dir=out",
        "x=1",
        "then='exec(open(\"then\").read())'",
    ]
    (app.folder / "then").write_text("1/0")
    assert "ZeroDivisionError" in app(*line, check=1).text
    (app.folder / "then").write_text("os._exit(7)")
    done = app(*line, check=1)
    assert "status 7: nothing was printed" in done.text
    assert "ZeroDivisionError" not in done.text


def test_an_application_whose_mode_is_a_sweep_has_jobs_that_are_none(app):
    hydra = {"mode": "MULTIRUN", "sweep": {"dir": "out"}, "sweeper": {"params": {"x": "1,4"}}}
    groups = {"defaults": [{"override hydra/launcher": "subprocess"}, "_self_"]}
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(groups | CONFIG | {"hydra": hydra}))
    program = app.launch()
    assert program.wait(60) == 0, program.text
    assert [line.split()[0] for line in begun(app)] == ["1", "4"]


def test_keys_with_the_name_of_a_column_have_one_of_their_own(app):
    app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "+status=new,old", "+result=7", "+folder=here",
        check=0)  # fmt: skip
    found = rows(app.folder / "out" / "results.csv")
    assert [row["status (key)"] for row in found] == ["new", "old"]
    assert [(row["status"], row["result"]) for row in found] == [("completed", "4")] * 2
    assert [(row["result (key)"], row["folder (key)"]) for row in found] == [("7", "here")] * 2


def test_a_job_that_outlives_its_sweep_is_waited_for(app):
    end = time.monotonic() + 60
    wait = (
        f"then='while time.monotonic() < {end} and not os.path.exists(config.log + \"go\"): time.sleep(0.01)'"
    )
    line = ["-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1", wait]
    first = app.launch(*line)
    while not (app.folder / "log.txt").exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait(300)
    second = app.launch(*line)
    while not (second.output.exists() and "waits" in second.text) and time.monotonic() < end:
        time.sleep(0.01)
    assert len(begun(app)) == 1
    (app.folder / "log.txtgo").touch()
    assert second.wait(300) == 0, second.text
    assert len(begun(app)) == 2


def test_a_terminal_sees_what_the_jobs_print(app):
    ours, theirs = pty.openpty()
    wait = """then='print("half of it", flush=True); end = time.monotonic() + 60
while not os.path.exists(config.log + "go") and time.monotonic() < end: time.sleep(0.01)'"""
    line = ["-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1,2", wait]
    program = fork(app.folder / "app.py", line, Path(os.ttyname(theirs)), cwd=app.folder)
    said = b""
    while b"job 1/2: half of it" not in said:
        assert select.select([ours], [], [], 100)[0], said
        said += os.read(ours, 1000)
    (app.folder / "log.txtgo").touch()
    assert program.wait(300) == 0


ODD = {
    "1e-3": 0.001, "-1": -1, "true": True, "null": None, "'null'": "null", "'1'": "1", "'a  b'": "a  b", "'it\\'s'": "it's", "'\"'": '"',
    "''": "", "' '": " ", "'été 😀'": "été 😀", "[1,a]": [1, "a"], "{}": {}, "{a:[1,{b:2}]}": {"a": [1, {"b": 2}]}, "'a,b=c:d'": "a,b=c:d",
    "'a\\b'": "a\\b", "'$HOME'": "$HOME", "'*'": "*", "'--help'": "--help", "'a\nb'": "a\nb", "'${seed}'": 7, "'" + "é" * 300 + "'": "é" * 300,
}  # fmt: skip
"""Values of one key as they are typed, and what the application sees."""


@pytest.mark.long
def test_odd_values_come_to_the_jobs(app):
    (app.folder / "conf" / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"seed": 7}))
    write = """then='import json; from omegaconf import OmegaConf
x = OmegaConf.to_container(config, resolve=True)["x"]
pathlib.Path("x.json").write_text(json.dumps(x)); config.x = 0'"""
    app("-m", "hydra/launcher=subprocess", "hydra.launcher.n_jobs=4", "hydra.sweep.dir=out", "hydra.job.chdir=true",
        f"x={','.join(ODD)}", write, check=0)  # fmt: skip
    found = [json.loads((app.folder / "out" / str(n) / "x.json").read_text()) for n in range(len(ODD))]
    assert found == list(ODD.values())


BACKGROUND = (
    "-m",
    "hydra/launcher=subprocess",
    "hydra.launcher.wait=false",
    "hydra.sweep.dir=out",
    "x=1,2,3",
)
HELD = """then='end = time.monotonic() + 300
while not os.path.exists(config.log + \"go\") and time.monotonic() < end: time.sleep(0.01)
assert config.x != 2 or os.path.exists(config.log + \"mended\"), \"x is two\"'"""
"""Wait for a file, and fail in one of the jobs until there is another one."""


def until(holds):
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def results(app):
    path = app.folder / "out" / "results.csv"
    return {row["x"]: row["status"] for row in rows(path)} if path.exists() else {}


def nobody_runs(folder):
    with (folder / "job.log").open() as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def statuses(done):
    return [line.split()[-1] for line in done.text.splitlines() if re.match(r"[123] ", line)]


@pytest.mark.long
def test_a_grid_in_the_background_is_collected_by_the_same_command(app):
    first = app(*BACKGROUND, HELD, check=0)  # it ends while its jobs wait
    assert "tail -f" in first.text
    second = app(*BACKGROUND, HELD, check=0)
    assert statuses(second) == ["running"] * 3
    (app.folder / "log.txtgo").touch()
    until(lambda: len(results(app)) == 3)
    assert results(app) == {"1": "completed", "2": "failed", "3": "completed"}
    (app.folder / "log.txtmended").touch()
    third = app(*BACKGROUND, HELD, check=0)
    assert statuses(third) == ["completed", "started", "completed"]
    assert "x is two" in third.text
    until(lambda: results(app)["2"] == "completed")
    last = app(*BACKGROUND, HELD, check=0)
    assert statuses(last) == ["completed"] * 3
    assert "kill" not in last.text
    assert Counter(line[0] for line in begun(app)) == {"1": 1, "2": 2, "3": 1}
    more = app(*BACKGROUND[:-1], "x=1,2,3,4", HELD, check=0)
    assert "started     1 of 4" in more.text
    until(lambda: len(results(app)) == 4)


@pytest.mark.long
@pytest.mark.parametrize(("number", "runs"), [(signal.SIGKILL, 1), (signal.SIGTERM, 2), (signal.SIGHUP, 2)])
def test_what_launches_in_the_background_may_be_stopped_or_killed(number, runs, app):
    (app.folder / "log.txtmended").touch()
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup, which children inherit
    first = app(*BACKGROUND, HELD, check=0)
    signal.signal(signal.SIGHUP, before)
    until(lambda: (app.folder / "log.txt").exists() and begun(app))
    os.kill(int(re.search(r"kill (\d+)", first.text)[1]), number)
    until(lambda: nobody_runs(app.folder / "out" / "2"))
    if number != signal.SIGKILL:
        until(lambda: nobody_runs(app.folder / "out" / "0"))
    second = app(*BACKGROUND, HELD, check=0)
    assert "started     3 of 3" in second.text or statuses(second) == ["running", "started", "started"]
    (app.folder / "log.txtgo").touch()
    until(lambda: len(results(app)) >= 2)
    until(lambda: nobody_runs(app.folder / "out" / "0"))
    assert statuses(app(*BACKGROUND, HELD, check=0)) == ["completed"] * 3
    assert Counter(line[0] for line in begun(app)) == {"1": runs, "2": 1, "3": 1}


def test_what_cannot_run_in_the_background_is_refused_before_the_first_job(app):
    rows = (
        (["hydra/sweeper=optuna"], "OptunaRacingSweeper"),
        (["hydra.sweep.dir=out/${now:%H}"], "hydra.sweep.dir"),
        (["+place=${now:%H}", "hydra.sweep.dir=${place}/out"], "hydra.sweep.dir"),
        (["hydra.sweeper.max_batch_size=2"], "hydra.sweeper.max_batch_size"),
    )
    texts = app.refusals([*BACKGROUND, *arguments] for arguments, _ in rows)
    for (_, key), text in zip(rows, texts, strict=True):
        assert "hydra.launcher.wait=false" in text.splitlines()[0]
        assert key in text.splitlines()[0]
    assert not (app.folder / "log.txt").exists()


def test_another_grid_does_not_overwrite_the_results_of_the_first(app):
    line = ("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out")
    app(*line, "x=1,2", check=0)
    kept = {path: path.read_text() for path in (app.folder / "out").rglob("job*.*")}
    for other in (["x=3,4"], ["x=1,2", "kind=b"]):
        done = app(*line, *other, check=1)
        assert "out/0 has the job x=1; give another hydra.sweep.dir" in done.text.splitlines()[0]
    assert {path: path.read_text() for path in (app.folder / "out").rglob("job*.*")} == kept
    assert len(begun(app)) == 2
    app(*line, "x=1,2", check=0)  # the same grid runs again
    assert [row["x"] for row in rows(app.folder / "out" / "results.csv")] == ["1", "2"]


@pytest.mark.long
def test_the_result_of_another_job_is_not_collected(app):
    app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1,2,3", check=0)
    done = app(*BACKGROUND, check=0)
    assert statuses(done) == ["completed"] * 3
    done = app(*BACKGROUND[:-1], "x=1,2,4", check=1)
    assert "x=4" in done.text.splitlines()[0]
    assert "x=3" in done.text.splitlines()[0]
    assert len(begun(app)) == 3


@pytest.mark.long
def test_the_keys_in_which_jobs_of_one_folder_differ_are_named(app):
    line = ("hydra.sweep.subdir=x-${x}", "+metric=loss")
    app("-m", "hydra/launcher=subprocess", "hydra.sweep.dir=out", "x=1,2,3", line[0], check=0)
    done = app(*BACKGROUND, *line, check=1)
    assert "let hydra.sweep.subdir depend on metric" in done.text.splitlines()[0]
    done = app(*BACKGROUND, line[0], "kind=a,b", check=1)
    assert "must depend on kind" in done.text.splitlines()[0]
    assert len(begun(app)) == 3
