import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.errors import InputError
from seq2seq.tensorboard.event_log import EventLog, event_files, event_writer, rewind_events


def steps_in(folder):
    events = EventAccumulator(str(folder), purge_orphaned_data=False)
    events.Reload()
    return [event.step for event in events.Scalars("loss")]


def write(log, *steps):
    for step in steps:
        log.log_metrics({"loss": 1.0}, step)
    log.save()


def test_what_was_written_after_a_checkpoint_is_taken_back(tmp_path):
    first = EventLog(tmp_path)
    write(first, 1, 2)
    sizes = first.sizes()
    write(first, 3)
    second = EventLog(tmp_path)
    write(second, 4)
    first.experiment.close()
    second.experiment.close()
    assert steps_in(tmp_path) == [1, 2, 3, 4]
    rewind_events(tmp_path, sizes)
    assert [path.name for path in event_files(tmp_path)] == list(sizes)
    assert steps_in(tmp_path) == [1, 2]


def test_a_run_that_begins_again_begins_its_series_again(tmp_path):
    log = EventLog(tmp_path)
    write(log, 1)
    log.experiment.close()
    (tmp_path / "config.yaml").write_text("kept")
    rewind_events(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_what_others_have_written_beside_a_run_stays(tmp_path):
    log = EventLog(tmp_path)
    write(log, 1)
    log.experiment.close()
    others = ["events.out.tfevents.1700000000.host.1.0", "events.out.tfevents.9.mine"]
    for name in others:
        (tmp_path / name).write_bytes(b"theirs, and longer than nothing")
    assert not {*log.sizes()} & {*others}
    rewind_events(tmp_path, {})
    assert sorted(path.name for path in event_files(tmp_path)) == others
    assert all(path.read_bytes().startswith(b"theirs") for path in event_files(tmp_path))


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_no_file_elsewhere_is_shortened_through_a_recorded_name(tmp_path, link):
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("mine")
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    getattr(run_dir / "events.out.tfevents.x", link)(thesis)
    with pytest.raises(InputError, match="left alone"):
        rewind_events(run_dir, {"events.out.tfevents.x": 0})
    assert thesis.read_text() == "mine"


@pytest.mark.parametrize("days", [0, 1, 400, 9000])
def test_a_series_goes_on_after_a_clock_was_set_back(tmp_path, monkeypatch, days):
    first = EventLog(tmp_path)
    write(first, 1, 2)
    sizes = first.sizes()
    write(first, 3)
    first.experiment.close()
    rewind_events(tmp_path, sizes)
    earlier = time.time() - days * 86400
    monkeypatch.setattr("time.time", lambda: earlier)
    second = EventLog(tmp_path)
    write(second, 3, 4)
    second.experiment.close()
    assert len(event_files(tmp_path)) == 2
    assert event_files(tmp_path)[0].name in sizes
    assert steps_in(tmp_path) == [1, 2, 3, 4]


def test_names_of_event_files_cannot_be_foretold(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    names = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        with event_writer(folder):
            names |= {path.name.split(".")[-1] for path in event_files(folder)}
    assert len(names) == 2
