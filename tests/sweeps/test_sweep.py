"""Sweeps as a user starts them, with jobs whose training is a stub."""

import random
import signal
import subprocess
import time

import optuna
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from seq2seq.experiments.job import Objective
from seq2seq.experiments.ledger import State
from seq2seq.experiments.study import open_study
from seq2seq.sweeps.sweep_jobs import one_at_a_time
from tests.swept import (
    ForkedDriver,
    ends_of,
    folders_of,
    ledgers_of,
    run_sweep,
    start_sweep,
)

QUICK = ["model.embedding_size=1", "trainer.max_epochs=3"]
SLOW = ["model.embedding_size=200", "trainer.max_epochs=8"]


def study_of(runs_dir, name):
    return open_study(runs_dir / "sweeps" / name, Objective("validation/bleu", "max"))


@pytest.fixture(scope="module")
def disaster(tmp_path_factory):
    """Six jobs of which four end badly: folder, exit status, what was printed."""
    folder = tmp_path_factory.mktemp("disaster")
    return folder, *run_sweep(folder, "data.seed=1,2,101,102,103,104", "sweep.jobs=2", *QUICK)


def states_of(folder):
    return {ledger.config["data"]["seed"]: ledger.state for ledger in ledgers_of(folder).values()}


def test_a_job_that_ends_badly_does_not_touch_the_others(disaster):
    folder, status, printed = disaster
    assert status == 1
    assert states_of(folder) == {
        1: State.finished,
        2: State.finished,
        101: State.failed,
        102: State.exited,
        103: State.interrupted,
        104: State.killed,
    }
    for words in ("finished", "failed", "exited with status 3", "interrupted", "killed by SIGKILL"):
        assert words in printed.split("overrides")[1]
    assert "2 finished, 1 failed, 1 exited, 1 interrupted, 1 killed" in printed


@pytest.mark.long
def test_a_job_of_two_processes_is_told_by_that_which_started_them(tmp_path):
    status, printed = run_sweep(
        tmp_path, "device=ddp", "device.accelerator=cpu", "data.seed=1,104", *QUICK
    )
    assert status == 1
    assert states_of(tmp_path) == {1: State.finished, 104: State.exited}
    assert "1 finished, 1 exited" in printed


def test_the_traceback_of_a_job_is_in_its_own_log_and_record(disaster):
    folder = disaster[0]
    for name, path in folders_of(folder).items():
        raised = "data.seed=101" in name
        assert ("ValueError: the loss exploded" in (path / "log.txt").read_text()) == raised
    failed = next(led for led in ledgers_of(folder).values() if led.state is State.failed)
    assert failed.detail == "ValueError: the loss exploded"
    assert "stub_training" in failed.traceback


def test_the_same_sweep_again_skips_what_ended_and_continues_what_was_stopped(disaster):
    folder = disaster[0]
    before = ledgers_of(folder)
    status, printed = run_sweep(folder, "data.seed=1,2,101,102,103,104", *QUICK)
    assert status == 1
    assert printed.count("continues ") == 2
    for name, ledger in ledgers_of(folder).items():
        continued = ledger.config["data"]["seed"] in {103, 104}
        assert ledger.attempts == 1 + continued
        assert len(ledger.history) == len(before[name].history) + continued


@pytest.mark.long
def test_failed_jobs_are_tried_again_on_request_and_values_can_be_added(tmp_path):
    assert run_sweep(tmp_path, "data.seed=1,101", *QUICK)[0] == 1
    status, _ = run_sweep(tmp_path, "data.seed=1,2,101", "sweep.retry_failed=true", *QUICK)
    assert status == 1
    attempts = {led.config["data"]["seed"]: led.attempts for led in ledgers_of(tmp_path).values()}
    assert attempts == {1: 1, 2: 1, 101: 2}


@pytest.mark.long
def test_a_finished_job_without_its_model_is_not_taken_for_finished(tmp_path):
    # started as a user's jobs are
    run_sweep(tmp_path, "seed=1", "sweep.keep=none", *QUICK, forked=False)
    (folder,) = folders_of(tmp_path).values()
    assert not (folder / "checkpoints").exists()
    (folder / "model" / "model.json").unlink()
    assert run_sweep(tmp_path, "seed=1", *QUICK)[0] == 0
    assert len(ends_of(folder)) == 2


@pytest.mark.long
def test_a_sweep_that_is_stopped_keeps_checkpoints_and_continues_to_the_same_result(tmp_path):
    driver = ForkedDriver(tmp_path, "seed=1,2,3", "sweep.jobs=2", *SLOW)
    wait_for(lambda: any(ledger.history for ledger in ledgers_of(tmp_path).values()))
    driver.send_signal(signal.SIGINT)
    printed = driver.said()
    assert driver.returncode == 128 + signal.SIGINT
    assert "stopping" in printed
    assert "by the same command" in printed
    assert "skipped" in printed
    assert State.running not in {ledger.state for ledger in ledgers_of(tmp_path).values()}
    assert run_sweep(tmp_path, "seed=1,2,3", "sweep.jobs=3", *SLOW)[0] == 0
    folders, ledgers = folders_of(tmp_path), ledgers_of(tmp_path)
    found = {led.config["seed"]: ends_of(folders[name]) for name, led in ledgers.items()}
    assert found == {seed: [repr(worth(seed, num_epochs=8))] for seed in (1, 2, 3)}
    assert max(ledger.attempts for ledger in ledgers.values()) == 2


def worth(seed, num_epochs):
    """What the stub says that its training is worth, where nobody stops it."""
    noise = 0.0
    for epoch in range(1, num_epochs + 1):
        noise += random.Random(f"{seed} additive {epoch}").random()
    return 10 * num_epochs * (1 - 0.1) + noise


def wait_for(happened, seconds=60):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.mark.long
def test_two_drivers_of_one_grid_do_not_run_a_job_twice(tmp_path):
    drivers = [ForkedDriver(tmp_path, "seed=range(1,5)", *QUICK) for _ in range(2)]
    printed = [driver.said() for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0]
    assert all("4 finished" in each for each in printed)
    assert [len(ends_of(folder)) for folder in folders_of(tmp_path).values()] == [1] * 4
    assert {ledger.attempts for ledger in ledgers_of(tmp_path).values()} == {1}


SEARCH = [
    "sweep.sampler=tpe",
    "sweep.name=search",
    "sweep.trials=10",
    "model.dropout=interval(0,0.9)",
    "attention=additive,dot",
    "trainer.max_epochs=6",
    "model.embedding_size=30",
]


@pytest.mark.long
def test_two_drivers_of_one_search_share_its_trials_and_prune(tmp_path):
    overrides = [*SEARCH, "sweep.pruner=median", "sweep.jobs=2"]
    drivers = [ForkedDriver(tmp_path, *overrides) for _ in range(2)]
    printed = [driver.said() for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], printed
    trials = study_of(tmp_path, "search").get_trials()
    states = [trial.state.name for trial in trials if "duplicate" not in trial.user_attrs]
    assert len(states) == 10
    assert set(states) == {"COMPLETE", "PRUNED"}
    ledgers = ledgers_of(tmp_path)
    assert len(ledgers) == 10
    pruned = [ledger for ledger in ledgers.values() if ledger.state is State.pruned]
    assert len(pruned) == states.count("PRUNED") > 0
    assert f"{len(pruned)} pruned" in printed[0] or f"{len(pruned)} pruned" in printed[1]
    assert {ledger.attempts for ledger in ledgers.values()} == {1}


@pytest.mark.long
def test_trials_that_a_killed_driver_left_are_taken_up_and_more_can_be_asked_for(tmp_path):
    driver = start_sweep(tmp_path, *SEARCH, "model.embedding_size=300", stdout=subprocess.DEVNULL)
    wait_for(lambda: any(ledger.history for ledger in ledgers_of(tmp_path).values()))
    driver.kill()
    driver.wait()
    bounded = ["sweep.trials=2", "model.embedding_size=300"]
    status, printed = run_sweep(tmp_path, *SEARCH[:2], *bounded, *SEARCH[3:6])
    assert status == 0
    assert "2 finished" in printed
    assert [len(ends_of(folder)) for folder in folders_of(tmp_path).values()] == [1, 1]
    complete = optuna.trial.TrialState.COMPLETE
    assert [trial.state for trial in study_of(tmp_path, "search").get_trials()] == [complete] * 2


def test_one_at_a_time_leaves_the_others_at_their_first_values():
    swept = ["dropout=0.1,0.2,0.3", "seed=1,2", "data=hf", "attention=additive,dot"]
    parsed = OverridesParser.create().parse_overrides(swept)
    jobs = list(one_at_a_time({each.get_key_element(): each for each in parsed}))
    settings = [("0.1", "additive"), ("0.2", "additive"), ("0.3", "additive"), ("0.1", "dot")]
    assert jobs == [
        (f"dropout={dropout}", "data=hf", f"attention={attention}", f"seed={seed}")
        for dropout, attention in settings
        for seed in (1, 2)
    ]


def test_a_sweep_takes_the_options_of_the_corpus_that_its_file_chooses(tmp_path):
    small = ["sweep=multi30k_small", "sweep.trials=1", "sweep.dry_run=true"]
    assert run_sweep(tmp_path, *small, "data.root=here")[0] == 0
    status, printed = run_sweep(tmp_path, *small, "data.rot=here")
    assert status == 2
    assert "did you mean data.root?" in printed


def test_a_dry_run_starts_nothing(tmp_path):
    status, printed = run_sweep(tmp_path, "seed=1,2", "sweep.dry_run=true")
    assert status == 0
    assert "seed=1" in printed
    assert "seed=2" in printed
    assert list(tmp_path.iterdir()) == []


def test_no_job_starts_when_the_time_is_up(tmp_path):
    status, printed = run_sweep(tmp_path, "seed=1,2", "sweep.time_budget=0")
    assert status == 0
    assert "2 skipped" in printed
    assert "sweep.time_budget is used up" in printed


REFUSED = {
    "optim.lr=1,2": "optim.lr: there is no such key, did you mean optim.learning_rate?",
    "model.dropout=0.1,7": "model.dropout=7.0 is out of range",
    "model.dropout=interval(0,0.5)": "a grid needs single values of model.dropout",
    "seed=1,1": "would be in one folder",
    "data.folder=1 sweep.jobs=1,2": "a sweep has one value of sweep.jobs",
    "sweep.sampler=tpe": "there is nothing to search",
    "sweep.sampler=tpe model.dropout=interval(0,2)": "model.dropout=2.0 is out of range",
    "sweep.sampler=tpe optim.learning_rate=tag(log,interval(0,1))": "learning_rate=tag(log",
    "sweep=seeds attention=dot": "needs two settings",
    "sweep=seeds attention=dot,additive seed=1": "sets the seeds",
    "sweep=seeds attention=dot,additive data=tatoeba data.test_pairs=0": "there is none",
}


@pytest.mark.parametrize(("overrides", "message"), REFUSED.items())
def test_wrong_sweeps_are_refused_in_one_line_before_anything_starts(tmp_path, overrides, message):
    status, printed = run_sweep(tmp_path, *overrides.split())
    assert status == 2, printed
    assert printed.count("\n") == 1
    assert message in printed
    assert not list(tmp_path.glob("baseline/*"))


@pytest.mark.long
def test_seeds_are_added_until_the_difference_is_significant(tmp_path):
    seeds = ["sweep=seeds", "sweep.min_seeds=2", "sweep.max_seeds=3", "sweep.jobs=2", *QUICK]
    clear, same = tmp_path / "clear", tmp_path / "same"
    status, printed = run_sweep(clear, "attention.dropout=0.3,0", "sweep.significance=0.4", *seeds)
    assert status == 0
    assert "4 finished" in printed
    assert "answer      attention.dropout=0: mean test BLEU 100.00" in printed
    assert " to attention.dropout=0.3, significant (p" in printed
    _, printed = run_sweep(same, "model.dropout=0,0.01", *seeds)
    assert "6 finished" in printed
    assert "0.00 to model.dropout=0.01, not significant (p = 1.000)" in printed
    _, printed = run_sweep(tmp_path / "other", "data.test_pairs=20,25", *seeds)
    assert "4 finished" in printed
    assert "answer      none: the settings have different test sentences" in printed


@pytest.mark.long
def test_a_launcher_of_hydra_runs_the_jobs_as_command_lines_of_their_own(tmp_path):
    overrides = ["hydra/launcher=submitit_local", "data.seed=1,101", *QUICK]
    status, printed = run_sweep(tmp_path, *overrides)
    assert status == 1
    assert "1 finished, 1 failed" in printed
    for name, folder in folders_of(tmp_path).items():
        raised = "data.seed=101" in name
        assert ("ValueError: the loss exploded" in (folder / "log.txt").read_text()) == raised


def test_a_launcher_of_hydra_is_refused_where_jobs_depend_on_those_before(tmp_path):
    status, printed = run_sweep(tmp_path, "hydra/launcher=submitit_local", *SEARCH)
    assert status == 2
    assert "hydra/launcher does not go with sweep.sampler=tpe" in printed


def test_jobs_find_the_configurations_that_the_sweep_was_given(tmp_path):
    (tmp_path / "own" / "debug").mkdir(parents=True)
    (tmp_path / "own" / "debug" / "mine.yaml").write_text("# @package _global_\nseed: 7\n")
    options = [f"--config-dir={tmp_path / 'own'}", "debug=mine", "data.seed=1", *QUICK]
    status, printed = run_sweep(tmp_path, *options)
    assert status == 0, printed
    assert [ledger.seed for ledger in ledgers_of(tmp_path).values()] == [7]
