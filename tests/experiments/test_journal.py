import json

from seq2seq.experiments.journal_lock import JournalLock


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
