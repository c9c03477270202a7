"""Sweeps that are killed at random moments end every job once, with the result of an undisturbed sweep."""

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import yaml

from packages.programs import jobs_of
from tests.conftest import MAIN, ROOT

OURS = (
    "data.max_examples=160", "data.batch_size=16", "trainer.max_epochs=2", "model.embedding_size=16",
    "model.encoder.hidden_size=16", "model.decoder.hidden_size=32", "model.decoder.readout_size=16",
    "decoding.beam_size=1", "scheduler.warmup_steps=5", "callbacks.periodic.every_n_train_steps=4",
    "callbacks.attention=null", "model.decoder.dropout=0.2", "threads=1", "logger=none",
    "hydra.sweep.dir=out",
)  # fmt: skip
SMALL = '''
import hydra, json, os, pathlib, time
from hydra.core.hydra_config import HydraConfig

@hydra.main(config_path="conf", config_name="config", **MAIN)
def main(config):
    """Two hundred steps with a checkpoint after each; every step changes the result."""
    file = pathlib.Path(HydraConfig.get().runtime.output_dir) / "metrics.json"
    last = file.with_name("last.json")
    state = json.loads(last.read_text()) if last.exists() else {"step": 0, "value": config.seed}
    if file.exists():
        print("x is finished; name=")
        return state["value"]
    while state["step"] < 200:
        state = {"step": state["step"] + 1, "value": (state["value"] * 31 + config.x) % 1000.003}
        for path in [last] if state["step"] < 200 else [last, file]:
            path.with_suffix(".partial").write_text(json.dumps(state))
            os.replace(path.with_suffix(".partial"), path)
        time.sleep(0.02)
    print("the end")
    print("results here")
    return state["value"]

main()
'''
GRIDS = {
    "small": ["x=1,2,3,4", "seed=1,2,3", "hydra.launcher.n_jobs=2"],
    "ours": ["name=${model.encoder.dropout}-${seed}", "model.encoder.dropout=0,0.1,0.2", "seed=1,2",
             "hydra.launcher.n_jobs=2"],
}  # fmt: skip
SEARCHES = {
    "small": ["hydra/sweeper=optuna", "x=interval(0,5)", "seed=1,2,3"],
    "ours": ["hparams_search=example"],
}
KILLS = 20
WAITS = {"small": 0.03, "grid": 0.15, "search": 0.06}
"""Time until a kill at most, as a share of the undisturbed sweep: with our program importing takes most of it."""


def results(folder):
    """What the finished runs in a folder have come to, by their places; and how often each came to its end."""
    found, ends = {}, {}
    for path in sorted((folder / "out").glob("*/metrics.json")):
        metrics = json.loads(path.read_text())
        found[path.parent.name] = {key: value for key, value in metrics.items() if key != "seconds"}
        said = (path.parent / "job.log").read_text()
        ends[path.parent.name] = said.count("\nresults ") - (
            said.count(" is finished; name=") if "\ntranslate " in said else 0
        )
    return found, ends


@pytest.mark.long
@pytest.mark.parametrize("program", ["small", "ours"])
@pytest.mark.parametrize("kind", ["grid", "search"])
def test_a_sweep_that_is_killed_ends_every_job_once(program, kind, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    if program == "small":
        (tmp_path / "app.py").write_text(SMALL.replace("**MAIN", MAIN))
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "config.yaml").write_text(yaml.safe_dump({"x": 0, "seed": 1}))
        command = [
            sys.executable,
            str(tmp_path / "app.py"),
            "-m",
            "hydra/launcher=subprocess",
            "hydra.sweep.dir=out",
        ]
    else:
        command = [sys.executable, str(ROOT / "train.py"), "-m", *OURS]
    command += GRIDS[program] if kind == "grid" else [*SEARCHES[program], "hydra.sweeper.n_trials=12"]
    started = time.monotonic()
    subprocess.run(command, cwd=whole, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    longest = seconds * WAITS[program if program == "small" else kind]
    draw, kills, starts, status = random.Random(1), {"sweep": 0, "job": 0}, 0, None
    while status != 0:
        starts += 1
        assert starts < 3 * KILLS, kills
        with (tmp_path / "said.txt").open("w") as said:
            sweep = subprocess.Popen(command, cwd=killed, stdout=said, stderr=subprocess.STDOUT)
        wait, end = draw.uniform(0, longest), None
        while sum(kills.values()) < KILLS and sweep.poll() is None:
            time.sleep(0.01)
            if end is None and "\njob " in "\n" + (tmp_path / "said.txt").read_text():
                end = time.monotonic() + wait
            if end is None or time.monotonic() < end:
                continue
            jobs = jobs_of(killed)
            if jobs and draw.random() < 0.5:  # the sweep goes on with the other jobs, and ends with an error
                os.kill(draw.choice(jobs), signal.SIGKILL)
                kills["job"] += 1
                end = time.monotonic() + draw.uniform(0, longest)
            else:
                sweep.kill()
                kills["sweep"] += 1
                break
        status = sweep.wait()
    print(f"\n{program} {kind}: {kills} in {starts} starts, undisturbed {seconds:.0f} s")
    found, ends = results(killed)
    assert found == results(whole)[0]
    assert max(ends.values()) == 1  # 0: killed between the result and the words
    assert sum(kills.values()) >= KILLS // 4  # it may end before all of them
    # a trial that was killed while it was proposed is a row without parameters
    rows = [
        list(csv.reader((each / "out" / "results.csv").read_text().splitlines())) for each in (whole, killed)
    ]
    rows = [[row[1:-1] for row in each if row[-1] != "fail"] for each in rows]
    assert rows[0] == rows[1] or kind == "grid"
    assert len(rows[1]) == 1 + (12 if program == "small" or kind == "search" else 6)


RACE = '''
import hydra, json, os, pathlib, random, time
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

@hydra.main(config_path="conf", config_name="config", **MAIN)
def main(config):
    """A training of a second with the files of a run; those with x = 3 fail."""
    folder = pathlib.Path(HydraConfig.get().runtime.output_dir)
    OmegaConf.save(config, folder / ".config.yaml")
    os.replace(folder / ".config.yaml", folder / "config.yaml")
    value = config.x + random.Random(f"{config.x} {config.seed}").gauss(0, 0.5)
    if not (folder / "metrics.json").exists():
        time.sleep(0.5)
        if config.x == 3:
            raise ValueError("x is 3")
        (folder / ".metrics").write_text(json.dumps({"test": {"greedy": {"bleu": value}}, "finished": True}))
        os.replace(folder / ".metrics", folder / "metrics.json")
    return value

main()
'''


@pytest.mark.long
def test_a_race_of_which_all_processes_are_killed_ten_times_has_the_verdicts_of_an_undisturbed_one(
    tmp_path, program
):
    script, kills = tmp_path / "app.py", 0
    script.write_text(RACE.replace("**MAIN", MAIN))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text(yaml.safe_dump({"x": 0, "seed": 1}))
    line = [sys.executable, str(script), "-m", "hydra/sweeper=optuna", "hydra/launcher=subprocess", "hydra.sweep.dir=out",
            "x=range(1,9)", "hydra.sweeper.n_trials=8", "hydra.sweeper.seeds=4", "hydra.sweeper.direction=maximize",
            "hydra.sweeper.max_failure_rate=1", "hydra.sweeper.n_jobs=2", "hydra.launcher.n_jobs=2"]  # fmt: skip

    def start(folder):
        with (folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                line, cwd=folder, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )

    def end_of(folder):
        """The search's table and last sentence, and the ledger: what ``compare --all`` says and writes."""
        table = (folder / "out" / "results.csv").read_text()
        said = (folder / "said.txt").read_text().splitlines()[-2:]
        ledger = program("out", "--baseline", "x=2", "--all", cwd=folder, command="compare", check=0).text
        assert "judges 7 changes of the baseline" in ledger
        return table, said, ledger, (folder / "out" / "comparison.csv").read_text()

    whole, draw = tmp_path / "whole", random.Random(1)
    whole.mkdir()
    started = time.monotonic()
    assert start(whole).wait() == 0, (whole / "said.txt").read_text()
    seconds, expected = time.monotonic() - started, end_of(whole)
    for number in range(10):
        killed = tmp_path / f"killed {number}"
        killed.mkdir()
        search = start(killed)
        while kills < 10:
            end = time.monotonic() + draw.uniform(0, seconds / 4)
            while search.poll() is None and time.monotonic() < end:
                time.sleep(0.005)
            if search.poll() is not None:  # on a busy machine it may end before it was killed so often
                break
            os.killpg(search.pid, signal.SIGKILL)
            search.wait()
            while jobs := jobs_of(killed):  # each has a process group of its own
                for job in jobs:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(job, signal.SIGKILL)
            kills += 1
            search = start(killed)
        assert search.wait() == 0, (killed / "said.txt").read_text()
        assert end_of(killed) == expected
        if kills == 10:
            break
    print(f"\n{kills} kills of {number + 1} searches, of {seconds:.0f} s undisturbed\n{expected[1]}")
    assert kills == 10
