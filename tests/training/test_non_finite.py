import errno
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer

from seq2seq.errors import TrainingFailed
from seq2seq.text.batch import Batch
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSplit, TokenStore
from seq2seq.training.checkpoints import CheckpointContents
from seq2seq.training.failures import failures_in_one_line
from seq2seq.training.interruption import StopOnSignal, requeue_command
from seq2seq.training.non_finite import NonFiniteGuard, require_finite_validation

NAN, INF = torch.tensor(torch.nan), torch.tensor(torch.inf)
ONE = torch.tensor(1.0)


@pytest.fixture
def batch():
    store = TokenStore.from_sentences([[5, 6], [7], [8]] * 10)
    split = EncodedSplit([SentencePair("a", "b")] * 30, store, store, 0, 0)
    return Batch.from_split(split, np.arange(3, 30).tolist())


@pytest.mark.parametrize(
    ("loss", "norm", "what"), [(NAN, ONE, "loss"), (INF, ONE, "loss"), (ONE, NAN, "gradient")]
)
def test_a_step_that_is_no_number_stops_and_names_step_and_sentences(batch, loss, norm, what):
    guard = NonFiniteGuard(0)
    guard.look_at(batch)
    with pytest.raises(
        TrainingFailed, match=rf"step 12: the {what} is NaN.* 3, 4, .* 22 and 7 more"
    ):
        guard.end_step(loss, norm, 12)


def test_steps_are_left_out_up_to_the_limit(batch, capsys):
    guard = NonFiniteGuard(1)
    guard.look_at(batch)
    assert not guard.end_step(NAN, ONE, 1)
    assert "step left out (1 of 1)" in capsys.readouterr().out
    guard.look_at(batch)
    assert guard.end_step(ONE, ONE, 2)
    guard.look_at(batch)
    with pytest.raises(TrainingFailed):
        guard.end_step(INF, ONE, 3)


def test_the_sentences_of_all_batches_of_a_step_are_named(batch):
    guard = NonFiniteGuard(0)
    guard.look_at(batch)
    guard.look_at(batch)
    with pytest.raises(TrainingFailed, match="and 34 more"):
        guard.end_step(NAN, ONE, 1)


def test_an_infinite_gradient_under_loss_scaling_is_no_defect(batch):
    guard = NonFiniteGuard(0)
    guard.look_at(batch)
    assert guard.end_step(ONE, None, 1)


def test_a_validation_loss_that_is_no_number_is_refused(batch):
    require_finite_validation(ONE, batch)
    with pytest.raises(TrainingFailed, match="validation sentences 3, 4"):
        require_finite_validation(NAN, batch)


def test_weights_that_are_no_numbers_are_never_saved():
    hook = (Trainer(logger=False, enable_checkpointing=False), LightningModule())
    contents = CheckpointContents({"events": lambda: {"a": 1}})
    checkpoint = {"state_dict": {"model.w": ONE}}
    contents.on_save_checkpoint(*hook, checkpoint)
    assert checkpoint["events"] == {"a": 1}
    for value in (NAN, -INF):
        with pytest.raises(TrainingFailed, match=r"step 0: model\.w holds NaN or infinity"):
            contents.on_save_checkpoint(*hook, {"state_dict": {"model.w": value}})


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_out_of_memory_names_the_batch_and_what_to_change(batch, error):
    guard = NonFiniteGuard(0)
    guard.look_at(batch)
    with (
        pytest.raises(TrainingFailed) as caught,
        failures_in_one_line(Path("run"), lambda: guard.shape),
    ):
        raise error
    said = str(caught.value)
    assert "27 sentences x (3 source + 3 target tokens)" in said
    assert "trainer.batch_sentences" in said
    assert "\n" not in said


def test_a_full_disk_and_a_lost_folder_are_one_line():
    for number, words in {errno.ENOSPC: "free some space", errno.EACCES: "writable"}.items():
        with (
            pytest.raises(TrainingFailed, match=f"here cannot be written to .*{words}"),
            failures_in_one_line(Path("run"), str),
        ):
            raise OSError(number, os.strerror(number), "here")


def test_other_errors_are_not_renamed():
    with pytest.raises(RuntimeError, match="shapes"), failures_in_one_line(Path("run"), str):
        raise RuntimeError("shapes do not match")


def test_the_command_to_requeue_is_that_of_the_job():
    assert requeue_command({}) is None
    assert requeue_command({"SLURM_JOB_ID": "12"}) == ["scontrol", "requeue", "12"]
    array = {"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "3"}
    assert requeue_command(array) == ["scontrol", "requeue", "9_3"]
    assert requeue_command({"SLURM_JOB_ID": "1; rm -r x"}) is None


def test_a_second_stop_signal_leaves_at_once(tmp_path, monkeypatch):
    left = []
    monkeypatch.setattr("seq2seq.training.interruption.os._exit", left.append)
    with StopOnSignal(tmp_path / "last.ckpt"):
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGTERM)
        assert left == []
        signal.raise_signal(signal.SIGINT)
    assert left == [130]
