import errno
import io
import os
import pickle
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from seq2seq.errors import InputError, TrainingFailed
from seq2seq.training import checkpoint_file as checkpoint
from seq2seq.training.checkpoint_file import (
    DamagedCheckpointError,
    load_model_weights,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)

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


@pytest.mark.parametrize("version", [0, 2, 10**9])
def test_another_version_of_the_format_is_one_line_that_names_both(folder, version):
    write_checkpoint(folder / "last.ckpt", content(3) | {"format_version": version})
    with pytest.raises(InputError, match=f"version {version}, this program reads version 1"):
        newest_checkpoint(folder)
    assert (folder / "last.ckpt").exists()


@pytest.mark.parametrize("version", [None, "1", -1, 1.5, [1], torch.tensor(1)])
def test_a_version_that_is_none_is_damage(folder, version):
    write_checkpoint(folder / "last.ckpt", content(3) | {"format_version": version})
    assert newest_checkpoint(folder)[0].name == "previous.ckpt"


def test_what_is_written_has_a_version_and_one_without_is_of_the_first(folder):
    path = folder / "last.ckpt"
    assert read_checkpoint(path)["format_version"] == 1
    stream = io.BytesIO()
    torch.save(content(3), stream)
    sealed = stream.getvalue() + b"\nseq2seq-checkpoint step=000000000003"
    path.write_bytes(sealed + b" sha256=%s\n" % sha256(sealed).hexdigest().encode())
    assert newest_checkpoint(folder)[1]["global_step"] == 3


def test_a_compressed_archive_which_may_be_a_bomb_is_damage(folder):
    stream, packed = io.BytesIO(), io.BytesIO()
    torch.save(content(3), stream)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in zipfile.ZipFile(stream).infolist():
            archive.writestr(member.filename, zipfile.ZipFile(stream).read(member))
    sealed = packed.getvalue() + b"\nseq2seq-checkpoint step=000000000003"
    path = folder / "last.ckpt"
    path.write_bytes(sealed + b" sha256=%s\n" % sha256(sealed).hexdigest().encode())
    with pytest.raises(DamagedCheckpointError, match="compressed"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"model.w": 1},
        {"w": torch.zeros(3)},
        {"model.weight": torch.full((2, 2), torch.nan)},
    ],
)
def test_weights_that_are_none_are_not_put_into_a_model(tmp_path, state):
    write_checkpoint(tmp_path / "best.ckpt", {"state_dict": state})
    model = torch.nn.Linear(2, 2, bias=False)
    with pytest.raises(InputError, match="does not hold this model's weights") as caught:
        load_model_weights(tmp_path / "best.ckpt", model)
    assert "\n" not in str(caught.value)
