"""A folder has one holder, whatever becomes of the file that says so."""

import errno
import fcntl
import os
import stat

import pytest

from seq2seq.errors import InputError, TrainingFailed
from seq2seq.storage.folder_lock import FILE_NAME, INHERITED, FolderLock


@pytest.fixture
def like_nfs(monkeypatch):
    """Only files can be locked."""
    lock = fcntl.flock

    def flock(descriptor, how):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)


def test_removing_the_lock_file_frees_nothing(tmp_path):
    lock = FolderLock.acquire(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    assert FolderLock.acquire(tmp_path) is None
    lock.close()
    assert FolderLock.acquire(tmp_path) is not None


def test_a_removed_lock_file_is_put_back(tmp_path, like_nfs):
    lock = FolderLock.acquire(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    lock.require()
    assert FolderLock.acquire(tmp_path) is None
    lock.close()
    assert FolderLock.acquire(tmp_path) is not None


def test_a_holder_notices_that_another_came_while_the_lock_file_was_gone(tmp_path, like_nfs):
    lock = FolderLock.acquire(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    other = FolderLock.acquire(tmp_path)
    assert other is not None
    with pytest.raises(TrainingFailed, match="another process works in the folder"):
        lock.require()
    other.close()
    lock.require()


def test_a_holder_notices_that_the_folder_is_gone(tmp_path):
    lock = FolderLock.acquire(tmp_path / "run")
    (tmp_path / "run" / FILE_NAME).unlink()
    (tmp_path / "run").rmdir()
    with pytest.raises(FileNotFoundError):
        lock.require()


def test_a_lock_that_is_handed_on_survives_the_removal_of_its_file(tmp_path, monkeypatch):
    lock = FolderLock.acquire(tmp_path)
    monkeypatch.setenv(*next(iter(lock.handed_on[1].items())))
    inherited = FolderLock.acquire(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    inherited.require()
    assert FolderLock.acquire(tmp_path) is None


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_with_what_helps(tmp_path, monkeypatch, number):
    def flock(descriptor, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(InputError, match=r"has no locks .*set data\.store to a folder on another"):
        FolderLock.acquire(tmp_path, setting="data.store")


def test_a_lock_file_that_is_a_link_makes_nothing_elsewhere(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        FolderLock.acquire(tmp_path / "run")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("word", ["", "9" * 30, "1,x", "٣", "-1", "99999", "0,1,2,3", ","])
def test_odd_words_of_the_environment_are_no_lock(tmp_path, monkeypatch, word):
    monkeypatch.setenv(INHERITED, word)
    assert FolderLock.acquire(tmp_path) is not None
