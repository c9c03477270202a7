"""Two processes on gloo train like one. Forked from a process that has torch imported."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from seq2seq.errors import InputError
from seq2seq.runs.launch import (
    Place,
    job_process,
    launch,
    needs_launch,
    place_in_job,
    started_place,
)
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.text import encode_corpus
from seq2seq.runs.run_record import RunRecord
from seq2seq.training.checkpoint_file import newest_checkpoint, read_checkpoint
from seq2seq.training.module import TranslationModule
from tests.torture.comparison import differences, left_by
from tests.torture.together import run_job, said_by
from tests.torture.victims import run_child

QUIET = [
    "decoding.beam=1", "tensorboard.heatmaps=0", "tensorboard.samples=0",
    "tensorboard.panel.first=0", "data.test_pairs=2", "data.validation_pairs=4",
]  # fmt: skip
FIFTY_STEPS = [
    *QUIET, "data.train_pairs=80", "trainer.max_steps=50", "trainer.max_epochs=30",
    "trainer.validate_every=10", "optim.learning_rate=0.001", "model.dropout=0",
    "trainer.accumulate=2", "trainer.gradient_clip=0.1",
]  # fmt: skip
DROPOUT = [
    *QUIET, "model.dropout=0.2", "optim.word_dropout=0.1", "optim.averaging=ema",
    "trainer.checkpoint_every=3",
]  # fmt: skip


def signal_in_step_5(number):
    """The second process sends itself a signal inside of a step."""

    def hook(rank):
        training_step = TranslationModule.training_step

        def step(self, batch, batch_index):
            if rank == 1 and self.global_step == 5:
                os.kill(os.getpid(), number)
            return training_step(self, batch, batch_index)

        TranslationModule.training_step = step

    return hook


@pytest.mark.long
def test_two_processes_train_the_weights_of_one_with_the_same_global_batch(tmp_path):
    one, two = tmp_path / "e" / "one", tmp_path / "e" / "two"
    assert run_child(one, [*FIFTY_STEPS, "trainer.batch_sentences=8"]) == 0
    statuses = run_job(two, [*FIFTY_STEPS, "trainer.batch_sentences=4"])
    assert statuses == [0, 0], said_by(two)
    expected, found = (
        read_checkpoint(folder / "checkpoints" / "last.ckpt") for folder in (one, two)
    )
    assert expected["global_step"] == found["global_step"] == 50
    for name, weight in expected["state_dict"].items():
        torch.testing.assert_close(found["state_dict"][name], weight, rtol=0, atol=1e-5)
    of_one, of_two = (left_by(folder) for folder in (one, two))
    for name in ("validation/loss", "validation/bleu", "attention/entropy", "train/gradient_norm"):
        for place in range(2):
            key = f"/series/{name}/0/{place}"
            assert of_two[key] == pytest.approx(of_one[key], abs=1e-5)
    assert said_by(two)[1] == "", "the second process is silent"


def seeds_in(run_dir):
    """What the random numbers of each process began with."""
    checkpoint = read_checkpoint(run_dir / "checkpoints" / "last.ckpt")
    generator = torch.Generator()
    for state in checkpoint["callbacks"]["RandomState"]["processes"]:
        generator.set_state(state["cpu"])
        yield generator.initial_seed()


@pytest.mark.long
def test_stopped_or_broken_jobs_continue_bit_for_bit(tmp_path):
    whole = tmp_path / "e" / "whole"
    assert run_job(whole, DROPOUT) == [0, 0], said_by(whole)
    first, second = seeds_in(whole)
    assert first != second, "both drop the same"
    for number, statuses in ((signal.SIGTERM, [143, 143]), (signal.SIGKILL, [1, -9])):
        run_dir = tmp_path / "e" / str(int(number))
        assert run_job(run_dir, DROPOUT, hook=signal_in_step_5(number)) == statuses
        errors = "".join(said_by(run_dir)).splitlines()
        ends = [line for line in errors if "the same command continues" in line]
        assert len(ends) == 1, errors
        assert newest_checkpoint(run_dir / "checkpoints") is not None
        assert run_job(run_dir, DROPOUT) == [0, 0], said_by(run_dir)
        assert differences(left_by(whole), left_by(run_dir)) == []


def test_a_process_finds_its_place_in_what_torchrun_and_srun_say():
    torchrun = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}
    srun = {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "4"}
    assert started_place(torchrun) == started_place(srun) == Place(3, 1, 4)
    assert started_place({}) is None
    assert started_place({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}) is None, "sbatch without srun"
    assert started_place(srun | {"SLURM_STEP_NUM_TASKS": "1"}) is None


def test_as_many_processes_as_devices_are_asked_for(configured):
    device = configured("device=ddp").device
    torchrun = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}
    with pytest.raises(InputError, match=r"for 2 devices, but 4 started"):
        place_in_job(device, torchrun)
    with pytest.raises(InputError, match=r"for 2 devices, but 1 started"):
        place_in_job(device, {})
    assert needs_launch(device, {})
    assert not needs_launch(device, {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"})
    assert not needs_launch(configured("device=cpu").device, {})
    with pytest.raises(InputError, match=r"device.num_nodes=2: start .* by torchrun or srun"):
        needs_launch(configured("device=ddp", "device.num_nodes=2").device, {})


PROGRAM = "import os, signal, sys, time\nrank = int(os.environ['RANK'])\n"


def launched(program, number=2):
    return launch([sys.executable, "-c", PROGRAM + program], number)


@pytest.mark.parametrize(
    "odd",
    [
        {"RANK": "x", "LOCAL_RANK": "0", "WORLD_SIZE": "2"},
        {"RANK": "2", "LOCAL_RANK": "0", "WORLD_SIZE": "2"},
        {"RANK": "0", "LOCAL_RANK": "-1", "WORLD_SIZE": "2"},
        {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "9" * 5000},
        {"SLURM_STEP_NUM_TASKS": "abc"},
    ],
)
def test_a_place_in_a_job_is_a_number_of_it(odd):
    with pytest.raises(InputError, match="in the environment is no whole number"):
        started_place(odd)


def test_a_launcher_is_known_by_its_number(monkeypatch):
    monkeypatch.setenv("SEQ2SEQ_LAUNCHED", "abc")
    with pytest.raises(InputError, match="SEQ2SEQ_LAUNCHED=abc in the environment"):
        job_process()


def test_the_launcher_ends_with_the_job(capfd):
    assert launched("print(rank, os.environ['WORLD_SIZE'])") == 0
    assert capfd.readouterr().out == "0 2\n"
    assert launched("sys.exit(2 * rank)", 3) == 4


def test_a_process_that_is_killed_ends_the_job_with_one_line(capfd, monkeypatch):
    monkeypatch.setattr("seq2seq.runs.launch.GRACE_SECONDS", 0.1)
    assert launched("os.kill(os.getpid(), 9) if rank else time.sleep(60)") == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("error: process 1 of 2 was ended by signal 9")


def test_a_signal_to_the_launcher_reaches_every_process(tmp_path):
    program = f"""
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
open({str(tmp_path)!r} + f"/{{rank}}", "w").close()
time.sleep(60)
"""
    child = os.fork()
    if not child:
        os._exit(launched(program))
    while not all((tmp_path / str(rank)).exists() for rank in range(2)):
        time.sleep(0.01)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143


def test_the_processes_end_with_a_launcher_that_is_killed(tmp_path):
    program = """
from seq2seq.runs.launch import follow_launcher
follow_launcher()
print("ready", flush=True)
time.sleep(60)
"""
    code = (
        "import sys; from seq2seq.runs.launch import launch; "
        f"launch([sys.executable, '-c', {PROGRAM + program!r}], 1)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout.readline() == b"ready\n"
        launcher.kill()
        # the pipe ends when the last that holds it has ended
        assert launcher.stdout.read() == b""


def test_the_first_process_alone_trains_tokenizers(tiny, tmp_path, monkeypatch):
    config = tiny()
    corpus = build_corpus(config.data)
    first = encode_corpus(config, corpus, None, tmp_path)
    monkeypatch.setattr("seq2seq.runs.making.text.build_codecs", lambda *_: pytest.fail("trained"))
    second = encode_corpus(config, corpus, None, tmp_path, writes=False)
    for pair in corpus.validation:
        assert second.target_codec.encode(pair.target) == first.target_codec.encode(pair.target)


def test_the_first_process_alone_writes_the_record(tiny, tmp_path):
    record = RunRecord.begin(tiny(), tmp_path, [], writes=False)
    record.accept()
    with pytest.raises(InputError, match="wrong"), record.kept():
        raise InputError("wrong")
    assert not list(tmp_path.iterdir())
    RunRecord.begin(tiny(), tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]
