import json
import os
import subprocess
import sys

import pytest

from seq2seq.errors import InputError
from seq2seq.experiments.ledger import (
    Ledger,
    State,
    add_validation,
    differing_keys,
    fingerprint,
    read_ledger,
    write_ledger,
)
from seq2seq.storage.folder_lock import FolderLock


@pytest.fixture
def ledger():
    return Ledger(
        state=State.running,
        config={"seed": 1, "model": {"dropout": 0.1}},
        overrides=["seed=1"],
        fingerprint="f",
        seed=1,
        versions={},
        git=None,
        host="h",
        process=1,
        started="now",
        history=[],
        monitor=("validation/loss", "min"),
        scores={},
    )


def test_a_record_is_read_as_it_was_written(tmp_path, ledger):
    add_validation(ledger, {"epoch": 1, "step": 5, "validation/loss": 2.0})
    write_ledger(tmp_path, ledger)
    assert read_ledger(tmp_path) == ledger
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_validations_that_a_crash_lost_are_replaced_and_the_best_is_known(ledger):
    for step, loss in [(5, 3.0), (10, 1.0), (15, 2.0)]:
        add_validation(ledger, {"epoch": step // 5, "step": step, "validation/loss": loss})
    assert ledger.best["step"] == 10
    add_validation(ledger, {"epoch": 2, "step": 10, "validation/loss": 4.0})
    assert [entry["step"] for entry in ledger.history] == [5, 10]
    assert ledger.best["step"] == 5


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 2}'])
def test_a_damaged_record_is_refused_with_its_path(tmp_path, text):
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(InputError, match=r"ledger\.json"):
        read_ledger(tmp_path)


def test_a_field_that_is_not_known_is_refused(tmp_path, ledger):
    write_ledger(tmp_path, ledger)
    values = json.loads((tmp_path / "ledger.json").read_text())
    (tmp_path / "ledger.json").write_text(json.dumps(values | {"new": 1}))
    with pytest.raises(InputError, match="another version"):
        read_ledger(tmp_path)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"scores": []}, "scores"),
        ({"scores": {"test": {"bleu": "high"}}}, "bleu"),
        ({"scores": {"test": {"bleu": 102.0}}}, "bleu"),
        ({"seed": "x"}, "seed"),
        ({"seed": 10**400}, "seed"),
        ({"state": "sleeping"}, "state"),
        ({"history": [{"step": 1}]}, "epoch"),
        ({"history": [{"epoch": -1, "step": 1}]}, "epoch"),
        ({"history": [{"epoch": 1, "step": 1, "validation/bleu": "x"}]}, "history"),
        ({"monitor": ["validation/bleu", "most"]}, "monitor"),
        ({"config": [1]}, "config"),
        ({"wall_seconds": None}, "wall_seconds"),
        ({"process": 1.5}, "process"),
    ],
)
def test_a_record_of_other_types_is_refused_by_field(tmp_path, ledger, changes, field):
    write_ledger(tmp_path, ledger)
    values = json.loads((tmp_path / "ledger.json").read_text())
    (tmp_path / "ledger.json").write_text(json.dumps(values | changes))
    with pytest.raises(InputError, match=field) as caught:
        read_ledger(tmp_path)
    assert "\n" not in str(caught.value)


def test_numbers_that_are_none_are_written_as_null_and_left_out(tmp_path, ledger):
    ledger.history = [{"epoch": 1, "step": 5, "validation/loss": float("nan")}]
    ledger.scores = {"test": {"bleu": float("nan"), "chrf": 3.0}, "data_share": float("inf")}
    write_ledger(tmp_path, ledger)
    text = (tmp_path / "ledger.json").read_text()
    assert "null" in text
    for old in (text, text.replace("null", "NaN").replace('"git": NaN', '"git": null')):
        (tmp_path / "ledger.json").write_text(old)
        found = read_ledger(tmp_path)
        assert found.history == [{"epoch": 1, "step": 5}]
        assert found.values("validation/loss") == {}
        assert (found.score("test", "bleu"), found.score("test", "chrf")) == (None, 3.0)
        assert found.score("validation", "bleu") is None


def test_the_fingerprint_is_of_what_decides_results_not_of_where_they_are():
    config = {"seed": 1, "name": None, "runs_dir": "a", "model": {"dropout": 0.1}}
    placed = config | {"name": "x", "runs_dir": "b", "experiment_name": "y"}
    changed = config | {"model": {"dropout": 0.2}}
    assert fingerprint(config) == fingerprint(placed) != fingerprint(changed)
    assert differing_keys(config, changed | {"name": "x"}) == {"model.dropout": (0.1, 0.2)}


def test_a_folder_has_one_holder_at_a_time(tmp_path):
    lock = FolderLock.acquire(tmp_path)
    assert FolderLock.acquire(tmp_path) is None
    lock.close()
    assert FolderLock.acquire(tmp_path) is not None


def test_a_lock_that_was_handed_on_ends_with_its_last_holder(tmp_path):
    lock = FolderLock.acquire(tmp_path)
    descriptors, variable = lock.handed_on
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
        pass_fds=descriptors,
        env=os.environ | variable,
    )
    lock.close()
    assert FolderLock.acquire(tmp_path) is None
    child.kill()
    child.communicate()
    assert FolderLock.acquire(tmp_path) is not None


def test_an_inherited_lock_is_that_of_its_own_folder_only(tmp_path, monkeypatch):
    lock = FolderLock.acquire(tmp_path / "a")
    monkeypatch.setenv(*next(iter(lock.handed_on[1].items())))
    assert FolderLock.acquire(tmp_path / "b") is not None
    assert FolderLock.acquire(tmp_path / "a") is not None
    assert FolderLock.acquire(tmp_path / "a") is None, "it is inherited once"
