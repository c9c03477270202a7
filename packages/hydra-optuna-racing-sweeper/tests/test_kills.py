"""A search that races and prunes, killed at random moments, ends as an undisturbed one: pytest -m long."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from packages.programs import jobs_of, rows, study_of

APP = """
import hydra, json, os, pathlib, random
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra_plugins.hydra_subprocess_launcher import report

ConfigStore.instance().store("config", {"x": 0, "seed": 0})

@hydra.main(version_base="1.3", config_path=None, config_name="config")
def main(config):
    finished = pathlib.Path(HydraConfig.get().runtime.output_dir) / "finished.json"
    if finished.exists():
        return json.loads(finished.read_text())
    result = config.x + random.Random(f"{config.x} {config.seed}").gauss(0, 0.3)
    for step in range(4):
        report(result - 4 / (step + 1), step)
    finished.with_suffix(".partial").write_text(json.dumps(result))
    os.replace(finished.with_suffix(".partial"), finished)
    return result

main()
"""
SEARCH = ("app.py", "-m", "hydra/sweeper=optuna", "hydra/launcher=subprocess", "hydra/sweeper/sampler=grid", "hydra/sweeper/pruner=median",
          "hydra.sweeper.pruner.n_startup_trials=3", "hydra.sweeper.seeds=3", "hydra.sweeper.direction=maximize",
          "hydra.sweeper.n_trials=10", "hydra.sweep.dir=out", "x=1,2,3,4,5,6,7,8,9,10")  # fmt: skip
KILLS = 20


def start(folder, said):
    with said.open("w") as file:
        return subprocess.Popen([sys.executable, *SEARCH], cwd=folder, stdout=file, stderr=subprocess.STDOUT)


def found_in(folder):
    """The table and the runs of the search in a folder."""
    table = rows(folder / "out" / "results.csv")
    with study_of(folder) as study:
        return table, {name: run for name, run in study.user_attrs.items() if name.startswith("run ")}


KILLED_WITHIN = """
import os, signal, sqlalchemy

@sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
def kill(connection, cursor, statement, *_):
    if os.environ.get("KILL_AT", "never") in statement:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("statement", "storage"),
    [
        ("UNIQUE INDEX ix_studies_study_name", []),
        ("UNIQUE INDEX ix_studies_study_name", ["hydra.sweeper.storage=sqlite:///mine.db"]),
        ("CREATE TABLE trials", []),
        ("INTO alembic_version", []),
    ],
)
def test_a_search_that_is_killed_while_its_database_is_made_can_be_run_again(app, statement, storage):
    script = app.folder / "app.py"
    script.write_text(KILLED_WITHIN + script.read_text())
    line = "-m", "hydra/sweeper=optuna", "hydra.sweeper.n_trials=1", "hydra.sweep.dir=out", "x=1,2", *storage
    killed = app.launch(*line, prepare=lambda: os.environ.update(KILL_AT=statement))
    assert killed.wait() == -signal.SIGKILL, killed.text
    app(*line, check=0)
    assert "trial 0" in app(*line, check=0).text


@pytest.mark.long
def test_a_race_with_pruning_that_is_killed_ends_as_an_undisturbed_one(tmp_path):
    whole, said = tmp_path / "whole", tmp_path / "said.txt"
    whole.mkdir()
    (whole / "app.py").write_text(APP)
    began = time.monotonic()
    assert start(whole, said).wait() == 0, said.read_text()
    seconds, end_of_whole = time.monotonic() - began, said.read_text().splitlines()[-2:]
    runs = len(found_in(whole)[1])
    longest = seconds / runs
    draw, kills, starts = random.Random(1), {"search": 0, "job": 0}, 0
    while sum(kills.values()) < KILLS:  # on a busy machine a search may end before it was killed so often
        killed, status = tmp_path / f"killed {starts}", None
        killed.mkdir()
        (killed / "app.py").write_text(APP)
        while status != 0:
            starts += 1
            assert starts < 10 * KILLS, (kills, said.read_text())
            search, end = start(killed, said), None
            if draw.random() < 0.25:  # before a job begins
                end = time.monotonic() + draw.uniform(0, longest)
            while sum(kills.values()) < KILLS and search.poll() is None:
                time.sleep(0.005)
                if end is None and "\njob " in "\n" + said.read_text():
                    end = time.monotonic() + draw.uniform(0, longest)
                if end is None or time.monotonic() < end:
                    continue
                jobs = jobs_of(killed)
                if jobs and draw.random() < 0.5:
                    os.kill(draw.choice(jobs), signal.SIGKILL)
                    kills["job"] += 1
                    break  # the search ends with its error, and the same command runs it again
                search.kill()
                kills["search"] += 1
                break
            status = search.wait()
        print(f"\n{kills} in {starts} starts; {runs} runs, {seconds:.0f} s undisturbed")
        assert found_in(killed) == found_in(whole)
        assert said.read_text().splitlines()[-2:] == end_of_whole
        table, made = found_in(killed)
        assert {row["status"] for row in table} == {"complete", "pruned"}
        assert {row["runs"] for row in table} >= {"1", "3"}
        assert len({(run["trial"], run["seed"]) for run in made.values()}) == len(made)
        jobs = [path.read_text() for path in (killed / "out").glob("*/job.json")]
        assert len(jobs) == len(set(jobs)) == len(made)
    assert sum(kills.values()) == KILLS
