import json
import time

import numpy as np
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger

from benchmarks.batches import split_of
from seq2seq.runs.run import run
from seq2seq.runs.summary import summary
from seq2seq.tensorboard.event_log import EventLog, drawing, drawing_seconds
from seq2seq.text.loader import BatchLoader, LoaderCost

SHARES = ("tensorboard_share", "data_share", "padding_share")


def test_a_run_reports_shares_between_zero_and_one(tiny, tmp_path, capsys):
    run(tiny("trainer.max_epochs=1", "tensorboard.heatmaps=1"), tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    for name in SHARES:
        assert 0 < metrics[name] < 1, name
    assert metrics["tensorboard_share"] + metrics["data_share"] < 1
    assert f"{metrics['tensorboard_share']:.1%} on TensorBoard" in capsys.readouterr().out


def test_a_training_that_had_ended_before_has_no_shares(tmp_path):
    lines = summary({"seconds": 1.0}, tmp_path)
    assert "TensorBoard" not in lines


def test_what_an_event_log_writes_and_what_is_drawn_is_counted(tmp_path, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    log = EventLog(tmp_path)
    log.log_metrics({"loss": 1.0}, 0)
    assert log.seconds == 1.0
    log.save()
    assert log.seconds == 2.0
    trainer = Trainer(logger=log, enable_checkpointing=False, accelerator="cpu")
    drawing(lambda *_: None)(None, trainer)
    assert log.seconds == 3.0


def test_without_an_event_log_a_hook_does_its_work_and_no_time_is_counted(tmp_path):
    trainer = Trainer(
        logger=TensorBoardLogger(tmp_path), enable_checkpointing=False, accelerator="cpu"
    )
    seen = []
    drawing(lambda *given: seen.append(given))("callback", trainer, "module")
    assert seen == [("callback", trainer, "module")]
    assert drawing_seconds(trainer.loggers) == 0


def test_a_loader_counts_places_and_tokens_but_not_the_time_of_its_user(
    monkeypatch,
):
    clock = [0.0]

    def tick():
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(time, "perf_counter", tick)
    split = split_of(np.array([2, 5, 3]), np.array([3, 4, 2]), 9)
    loader = BatchLoader(split, lambda _: [np.array([0, 1]), np.array([2])], lambda: 0)
    assert loader.cost.seconds == 0
    batches = []
    for batch in loader:
        clock[0] += 1000.0  # what is done with the batch
        batches.append(batch)
    assert loader.cost.seconds == 2.0
    places = sum(batch.source.ids.numel() + batch.target_input.numel() for batch in batches)
    tokens = sum(int(batch.source.lengths.sum() + batch.target_lengths.sum()) for batch in batches)
    assert (loader.cost.num_places, loader.cost.num_tokens) == (places, tokens)
    assert tokens < places
    assert LoaderCost().num_tokens == 0
