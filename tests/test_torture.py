"""The short form of the torture; `make torture` is the long one."""

import shutil

import pytest

from tests.torture import (
    checkpoints,
    configs,
    corpora,
    damage,
    files,
    fuzz,
    kills,
    leavings,
    machine,
    malice,
    resuming,
    signals,
    strangers,
    tab,
)

MIXED = [
    "trainer.accumulate=3", "device.precision=bf16-mixed", "optim.schedule=plateau",
    "optim.warmup_steps=0", "optim.plateau_patience=1", "model.dropout=0.2",
    "trainer.early_stopping=2", "trainer.monitor=bleu", "trainer.checkpoint_every=1",
]  # fmt: skip


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("torture")


def require(results):
    results = list(results)
    assert results
    assert not {name: wrong for name, wrong in results if wrong}


@pytest.mark.parametrize("point", ["in_validation", "twice_in_one_epoch", "asked_then_killed"])
def test_a_run_that_was_stopped_leaves_what_an_undisturbed_run_leaves(folder, point):
    assert resuming.check(folder, "mixed", MIXED, resuming.POINTS[point]) == []


def test_the_comparison_sees_a_difference(folder):
    expected = resuming.undisturbed(folder, "mixed", MIXED)
    shutil.copytree(expected.parent, folder / "other" / "undisturbed")
    assert "the batches, or their losses" in resuming.check(folder, "other", ["seed=2"], [])


def test_a_killed_save_is_never_torn(folder):
    require(kills.kill_saves(folder / "saves", 5))


def test_a_killed_run_loses_no_more_than_the_interval(folder):
    require(kills.kill_runs(folder / "kills", 1))


def test_sigint_stops_with_a_checkpoint(folder):
    require(signals.send_sigint(folder / "sigint", 1))


def test_damaged_models_are_refused(folder):
    require(damage.damage_models(folder / "models", 12))


def test_what_the_machine_does_to_a_run_is_said_in_one_line_and_survived(folder):
    require(machine.check_all(folder / "machine", 0.2))


def test_malicious_files_are_not_executed(folder):
    require(malice.check_all(folder / "malice", 0.06))


def test_files_with_odd_fields_are_read_or_refused_in_one_line(folder):
    require(files.check_all(folder / "files", 0.004))


def test_checkpoints_with_odd_parts_are_continued_or_refused_in_one_line(folder):
    require(checkpoints.check_all(folder / "checkpoints", 0.025))


def test_generated_configurations_are_accepted_or_refused_in_one_line():
    require(configs.check_generated(10))


def test_a_strangers_configuration_is_refused_in_one_line(folder):
    require(strangers.check_all(folder / "strangers", 0.01))


@pytest.mark.parametrize("part", ["check_journals", "check_saved", "check_environment"])
def test_what_strangers_leave_is_refused_in_one_line(folder, part):
    require(getattr(leavings, part)(folder / part, 0.05))


def test_odd_corpora_have_a_defined_result(folder):
    require(corpora.check_all(folder / "corpora", 0.06))


def test_as_many_lines_come_out_of_the_translator_as_go_in(folder):
    require(fuzz.fuzz(folder / "fuzz", 0.1, longest=20))


def test_what_anybody_logged_is_shown_or_named(folder):
    require(tab.check_all(folder / "tab", 0.03))
