from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.tensorboard.event_log import EventLog, event_files, rewind_events


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
