import errno
import os
import pickle
from pathlib import Path

import pytest
import torch

from seq2seq.application import checkpoint
from seq2seq.application.checkpoint import (
    DamagedCheckpointError,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from seq2seq.errors import TrainingFailed

PARTS = ("loops", "callbacks", "optimizer_states", "conditions", "events")


def content(step):
    return {
        "global_step": step,
        "state_dict": {"w": torch.full((3,), step)},
        **{p: {} for p in PARTS},
    }


def save(folder, step):
    write_checkpoint(folder / "last.ckpt", content(step), previous=folder / "previous.ckpt")


@pytest.fixture
def folder(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 2)
    return tmp_path


def test_what_is_written_is_read_and_torch_itself_reads_it_too(folder):
    path = folder / "last.ckpt"
    for found in (read_checkpoint(path), torch.load(path, weights_only=True)):
        assert found["global_step"] == 2
        assert torch.equal(found["state_dict"]["w"], torch.full((3,), 2))
    assert path.read_bytes().splitlines()[-1].startswith(b"seq2seq-checkpoint step=000000000002 ")


def test_the_one_before_the_last_is_kept(folder):
    assert read_checkpoint(folder / "previous.ckpt")["global_step"] == 1
    assert sorted(path.name for path in folder.iterdir()) == ["last.ckpt", "previous.ckpt"]


def test_any_changed_byte_and_any_cut_is_noticed(folder):
    path = folder / "last.ckpt"
    whole = path.read_bytes()
    for place in (0, 100, len(whole) // 2, len(whole) - 80, len(whole) - 75, len(whole) - 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 32]) + whole[place + 1 :])
        with pytest.raises(DamagedCheckpointError):
            read_checkpoint(path)
        path.write_bytes(whole[:place])
        with pytest.raises(DamagedCheckpointError):
            read_checkpoint(path)


def test_instead_of_a_damaged_one_the_previous_is_used_and_it_is_said(folder, capsys):
    (folder / "last.ckpt").write_bytes(b"x" * 500)
    path, found = newest_checkpoint(folder)
    assert (path.name, found["global_step"]) == ("previous.ckpt", 1)
    assert "WARNING: " in capsys.readouterr().out
    assert (folder / "damaged-1-last.ckpt").exists()
    save(folder, 3)
    assert read_checkpoint(folder / "previous.ckpt")["global_step"] == 1, "the good one was lost"


def test_where_all_are_damaged_nothing_begins_anew(folder):
    for name in ("last.ckpt", "previous.ckpt"):
        (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(TrainingFailed, match="all checkpoints are damaged"):
        newest_checkpoint(folder)
    assert (folder / "last.ckpt").exists()


def test_a_folder_or_a_foreign_checkpoint_in_its_place_is_damage(folder):
    (folder / "last.ckpt").unlink()
    (folder / "last.ckpt").mkdir()
    assert newest_checkpoint(folder)[0].name == "previous.ckpt"
    write_checkpoint(folder / "last.ckpt", {"state_dict": {}})
    assert newest_checkpoint(folder)[0].name == "previous.ckpt"


def test_nothing_is_a_beginning(tmp_path):
    assert newest_checkpoint(tmp_path / "absent") is None


def test_a_full_disk_leaves_what_was_there(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(folder, 3)
    assert read_checkpoint(folder / "last.ckpt")["global_step"] == 2
    assert sorted(path.name for path in folder.iterdir()) == ["last.ckpt", "previous.ckpt"]


def test_the_file_is_flushed_before_it_gets_its_name_and_the_folder_after(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(
        checkpoint.os,
        "fsync",
        lambda descriptor: (done.append("flush"), fsync(descriptor))[1],
    )
    monkeypatch.setattr(
        Path, "replace", lambda path, to: (done.append("rename"), replace(path, to))[1]
    )
    write_checkpoint(tmp_path / "best.ckpt", content(1))
    assert done == ["flush", "rename", "flush"]


def test_it_is_written_beside_its_place_wherever_temporary_files_are(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere")
    moved = []
    replace = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda path, to: (moved.append(path.parent), replace(path, to))[1]
    )
    write_checkpoint(tmp_path / "best.ckpt", content(1))
    assert moved == [tmp_path]


class Malice:
    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return os.mkdir, (str(self.canary),)


@pytest.mark.parametrize("seal", [False, True])
def test_a_checkpoint_cannot_run_code_even_with_the_right_digest(folder, tmp_path, seal):
    canary = tmp_path / "canary"
    path = folder / "last.ckpt"
    if seal:
        write_checkpoint(path, content(3) | {"loops": Malice(canary)})
    else:
        path.write_bytes(pickle.dumps(Malice(canary)))
    assert newest_checkpoint(folder)[0].name == "previous.ckpt"
    assert not canary.exists()
