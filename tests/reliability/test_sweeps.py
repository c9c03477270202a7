"""Sweeps that are killed at random moments end every job once, with the result of an undisturbed sweep."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT

RUN = (
    "data.max_examples=160", "data.batch_size=16", "trainer.max_epochs=3", "model.embedding_size=16",
    "model.encoder.hidden_size=16", "model.decoder.hidden_size=32", "model.decoder.readout_size=16",
    "decoding.beam_size=1", "scheduler.warmup_steps=5", "callbacks.periodic.every_n_train_steps=4",
    "callbacks.attention=null", "model.decoder.dropout=0.2", "threads=1", "logger=none",
    "callbacks.learning_rate=null",
)  # fmt: skip
GRID = ("-m", *RUN, "name=${model.encoder.dropout}-${seed}", "model.encoder.dropout=0,0.1,0.2", "seed=1,2",
        "hydra.launcher.n_jobs=2")  # fmt: skip
SEARCH = ("-m", *RUN, "hparams_search=example", "hydra.sweeper.n_trials=12", "experiment_name=baseline")
KILLS = 20


def results(folder):
    """What the runs in a folder have come to, by what decides them; and how often each was trained to its end."""
    found, ends = {}, {}
    for path in sorted((folder / "runs/baseline").glob("*/metrics.json")):
        metrics = json.loads(path.read_text())
        found[path.parent.name] = {
            key: metrics[key] for key in ("val", "test", "steps", "epochs", "parameters")
        }
        said = (path.parent / "job.log").read_text()
        ends[path.parent.name] = said.count("\nresults ") - said.count(" is finished; name=")
    return found, ends


def jobs_of(folder):
    """Ids of the processes of the jobs that work in a folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{name}/cmdline").read()
        except OSError:
            continue
        if f"hydra.run.dir='{folder}" in line:
            found.append(int(name))
    return found


@pytest.mark.long
@pytest.mark.parametrize("line", [GRID, SEARCH], ids=["grid", "search"])
def test_a_sweep_that_is_killed_ends_every_job_once(line, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    command = [sys.executable, str(ROOT / "train.py"), *line]
    started = time.monotonic()
    subprocess.run(command, cwd=whole, check=True, stdout=subprocess.DEVNULL, timeout=3000)
    seconds = time.monotonic() - started
    draw, kills, starts = random.Random(1), {"sweep": 0, "job": 0}, 0
    while True:
        starts += 1
        assert starts < 5 * KILLS
        sweep = subprocess.Popen(command, cwd=killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + draw.uniform(0.01, 0.08) * seconds
        while sum(kills.values()) < KILLS and sweep.poll() is None:
            time.sleep(0.01)
            if time.monotonic() < end:
                continue
            jobs = jobs_of(killed)
            if jobs and draw.random() < 0.5:  # the sweep goes on with the other jobs, and ends with an error
                os.kill(draw.choice(jobs), signal.SIGKILL)
                kills["job"] += 1
                end = time.monotonic() + draw.uniform(0.01, 0.08) * seconds
            else:
                sweep.kill()
                kills["sweep"] += 1
        if sweep.wait(3000) == 0 and sum(kills.values()) == KILLS:
            break
    print(f"{kills} in {starts} starts, undisturbed {seconds:.0f} s")
    found, ends = results(killed)
    assert found == results(whole)[0]
    assert len(found) == (6 if line is GRID else len({*ends}))
    assert set(ends.values()) == {1}
    assert sum(kills.values()) == KILLS
    if line is SEARCH:  # a trial that was killed while it was proposed is a row without parameters
        rows = [[row[1:] for row in csv.reader((each / "runs/baseline/results.csv").open()) if row[-1] != "fail"]
                for each in (whole, killed)]  # fmt: skip
        assert rows[0] == rows[1]
        assert len(rows[0]) == 12 + 1
