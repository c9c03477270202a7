"""What the torture allows: the time of a processor, not of a clock, and memory."""

import os
import signal
import time

import pytest

from tests.torture import limits
from tests.torture.victims import start


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 0.3)
    monkeypatch.setattr(limits, "MOST_MEMORY", 64 << 20)
    monkeypatch.setattr(limits, "PATIENCE", 3.0)


def with_time_for_memory(monkeypatch, what):
    if what == "bytes":  # whose pages a machine may take long to clear
        monkeypatch.setattr(limits, "MOST_SECONDS", 20.0)


def compute():
    while True:
        pass


def started_and_computing():
    child = os.fork()
    if not child:
        compute()
    return os.waitpid(child, 0)[1]


def hold():
    held = bytearray(b"x" * (128 << 20))
    time.sleep(20)
    return len(held) % 1


def rest():
    time.sleep(0.5)
    return 3


def test_one_that_waits_is_not_one_that_computes(tmp_path):
    status, seconds = limits.wait(start(rest, tmp_path / "said"))
    assert status == 3
    assert seconds < 0.3


@pytest.mark.parametrize(
    ("action", "what"),
    [
        (compute, "seconds of a processor"),
        (started_and_computing, "seconds of a processor"),
        (hold, "bytes"),
    ],
)
def test_a_child_that_takes_too_much_is_ended_with_what_it_started(
    tmp_path, capsys, monkeypatch, action, what
):
    with_time_for_memory(monkeypatch, what)
    assert limits.wait(start(action, tmp_path / "said"))[0] == -signal.SIGKILL
    assert capsys.readouterr().err.endswith(f"{what}\n")


def test_a_child_that_waits_for_ever_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.2)
    assert limits.wait(start(lambda: time.sleep(20), tmp_path / "said"))[0] == -signal.SIGKILL


@pytest.mark.parametrize(
    ("action", "words"), [(compute, "more than 0.3 s"), (lambda: b"x" * (256 << 20), "bytes")]
)
def test_what_takes_too_much_in_this_process_is_told(tmp_path, monkeypatch, action, words):
    with_time_for_memory(monkeypatch, words)

    def told():
        with limits.limited() as wrong:
            action()
        return [words in each for each in wrong] == [True]

    # in a child, which has none of the threads that may let go of memory meanwhile
    assert os.waitstatus_to_exitcode(os.waitpid(start(told, tmp_path / "said"), 0)[1]) == 1


def test_what_takes_little_is_not_told(monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 20.0)
    with limits.limited() as wrong:
        time.sleep(0.01)
    assert wrong == []
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
