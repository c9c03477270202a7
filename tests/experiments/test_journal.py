import json

import pytest

from seq2seq.errors import InputError
from seq2seq.experiments.job import Objective
from seq2seq.experiments.journal_lock import JournalLock
from seq2seq.experiments.study import open_study


def test_an_entry_whose_writer_died_within_it_is_cut_off(tmp_path):
    path = tmp_path / "journal"
    path.write_text('{"a":1}\n{"b"')
    lock = JournalLock(path)
    lock.acquire()
    lock.release()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"a": 1}]


def test_a_whole_journal_is_left_alone(tmp_path):
    path = tmp_path / "journal"
    path.write_text('{"a":1}\n')
    lock = JournalLock(path)
    lock.acquire()
    lock.release()
    assert path.read_text() == '{"a":1}\n'


@pytest.mark.parametrize("there", [True, False])
def test_a_study_is_not_written_through_a_link(tmp_path, there):
    elsewhere = tmp_path / "elsewhere"
    if there:
        elsewhere.write_text("mine")
    (tmp_path / "study.journal").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link"):
        open_study(tmp_path, Objective("validation/bleu", "max"))
    assert elsewhere.exists() is there
    assert not there or elsewhere.read_text() == "mine"
