"""Runs that are killed, stopped, out of disk or damaged continue, and lose no checkpoint."""

import json
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from hydra_checked.program import exit_on_error
from seq2seq import InputError, train
from seq2seq.cli.main import main
from seq2seq.decoding import scoring
from seq2seq.settings.application import APPLICATION
from tests.conftest import TINY
from tests.small import forget_checksums

pytestmark = pytest.mark.usefixtures("short_corpora")

RUN = (
    "data.max_examples=48", "data.batch_size=4", "trainer.max_epochs=2", "model.embedding_size=16",
    "model.encoder.hidden_size=16", "model.decoder.hidden_size=32", "model.decoder.readout_size=16",
    "decoding.beam_size=1", "scheduler.warmup_steps=5", "callbacks.periodic.every_n_train_steps=4",
    "trainer.log_every_n_steps=3", "callbacks.attention.every_n_steps=7", "callbacks.attention.heatmaps=0",
    "model.decoder.dropout=0.2", "decoding.max_ratio=1", "threads=1",
    "trainer.max_steps=100",
)  # fmt: skip
"""Two epochs of twelve steps, with dropout, an average of the weights, and checkpoints within epochs."""


def series(folder):
    """Every scalar but the speed: tag -> (step, value), once each; and the steps of records, texts and images."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0, "images": 0})
    events.Reload()
    tags = [tag for tag in events.Tags()["scalars"] if "second" not in tag]
    found = {tag: [*dict.fromkeys((each.step, each.value) for each in events.Scalars(tag))] for tag in tags}
    # sets: this reader of TensorBoard's purges scalars and images that were written again, not tensors
    steps = {f"record {tag}": {each.step for each in events.Tensors(tag)} for tag in events.Tags()["tensors"]}
    return (
        found
        | steps
        | {f"image {tag}": [e.step for e in events.Images(tag)] for tag in events.Tags()["images"]}
    )


def assert_same_result(whole, other):
    one, two = (load_file(folder / "model" / "model.safetensors") for folder in (whole, other))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    one, two = (
        torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True) for folder in (whole, other)
    )
    assert one["global_step"] == two["global_step"]
    assert all(torch.equal(one["state_dict"][name], two["state_dict"][name]) for name in one["state_dict"])
    assert series(whole) == series(other)
    one, two = (json.loads((folder / "metrics.json").read_text()) for folder in (whole, other))
    for key in ("val", "test", "steps", "epochs", "kept", "ended"):
        assert one.get(key) == two.get(key)


@pytest.fixture(scope="module")
def whole(program, tmp_path_factory):
    """The folder of an undisturbed run, and how long it took."""
    folder = tmp_path_factory.mktemp("whole")
    start = time.monotonic()
    program(*RUN, "name=run", cwd=folder, check=0)
    return folder / "runs/baseline/run", time.monotonic() - start


def wait_for(path):
    """Return when a file is there, or after a minute."""
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def killed_until_done(launch, folder, seconds, number, seed, most, run=RUN, between=None):
    """Kill so often, at random moments, then let the run end by itself; return the folder and the statuses.

    A start that ends before its moment is taken back, and another is killed in the first half of its time.
    `between` is called with the folder after each kill, and returns the folder in which to go on.
    """
    draw, statuses, window = random.Random(seed), [], seconds
    kept = folder.with_name(f"{folder.name} kept")  # the runs as the last kill left them
    while not statuses or statuses[-1] != 0:
        started = launch(*run, "name=run", cwd=folder)
        is_last = len(statuses) == most
        if not is_last:
            end = time.monotonic() + draw.uniform(0.1, 1.0) * window
            while time.monotonic() < end and started.status is None:
                pid, status = os.waitpid(started.pid, os.WNOHANG)
                started.status = os.waitstatus_to_exitcode(status) if pid else None
                time.sleep(0.01)
            started.send(number)
        status = started.wait()
        assert status in (0, -number, 128 + number), started.text
        is_finished = (folder / "runs/baseline/run/metrics.json").exists()
        assert is_finished == (status == 0) or status == -number
        if is_finished and not is_last:  # its moment can also be after the last file was written
            window /= 2
            shutil.rmtree(folder / "runs")
            if kept.exists():
                shutil.copytree(kept, folder / "runs")
            continue
        statuses.append(status)
        if status != 0 and (folder / "runs").exists():
            folder = folder if between is None else between(folder)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder / "runs", kept)
    assert len(statuses) == most + 1
    return folder, statuses


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 23))])
def test_a_killed_run_continues_to_the_same_result(whole, launch, tmp_path, seed):
    folder, seconds = whole
    killed_until_done(launch, tmp_path, seconds, signal.SIGKILL, seed, most=4 if seed else 1)
    assert_same_result(folder, tmp_path / "runs/baseline/run")


KILL = """
import os, signal
from lightning.pytorch.callbacks import Callback

class Kill(Callback):
    def setup(self, trainer, module, stage):
        hook, step = os.environ.get("KILL_AT", "setup 0").split()
        here = os.environ.get("KILL_RANK", str(trainer.global_rank)) == str(trainer.global_rank)
        def kill(*_):
            fits = step in ("any", str(trainer.global_step)) and (not trainer.sanity_checking or "sanity" in hook)
            if fits and not getattr(self, "is_sent", False):
                self.is_sent = True
                os.kill(os.getpid(), int(os.environ.get("NUMBER", signal.SIGKILL)))
        if hook != "setup" and here:
            setattr(self, hook, kill)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "moment",
    [
        "on_train_batch_start 3",  # something is logged, and there is no checkpoint yet
        "on_validation_start 12",  # after the last batch of an epoch, a step of the periodic checkpoint
        "on_train_epoch_start 12",  # after the checkpoint at the end of an epoch
    ],
)
def test_a_run_that_is_killed_at_a_border_continues_to_the_same_result(whole, program, tmp_path, moment):
    (tmp_path / "kill.py").write_text(KILL)
    run = [*RUN, "name=run", "+callbacks.kill._target_=kill.Kill"]
    assert program(*run, cwd=tmp_path, KILL_AT=moment).status == -signal.SIGKILL
    program(*run, cwd=tmp_path, check=0)
    assert_same_result(whole[0], tmp_path / "runs/baseline/run")


LAST = """
import os, signal
from lightning.pytorch.loggers import CSVLogger

class Last(CSVLogger):
    def log_metrics(self, metrics, step=None):
        if "test/bleu" in metrics and "KILL" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.long
def test_a_run_that_is_killed_after_its_scores_are_logged_logs_the_same(whole, program, tmp_path):
    (tmp_path / "last.py").write_text(LAST)
    run = [*RUN, "name=run", "+logger.last._target_=last.Last", "+logger.last.save_dir=logs"]
    assert program(*run, cwd=tmp_path, KILL="1").status == -signal.SIGKILL
    assert "test/bleu" in series(tmp_path / "runs/baseline/run")
    assert not (tmp_path / "runs/baseline/run/metrics.json").exists()
    program(*run, cwd=tmp_path, check=0)
    assert_same_result(whole[0], tmp_path / "runs/baseline/run")


@pytest.mark.long
@pytest.mark.parametrize("objective", ["minimum_risk", "scheduled_sampling"])
def test_an_objective_that_draws_continues_with_the_same_draws(program, tmp_path, objective):
    (tmp_path / "kill.py").write_text(KILL)
    run = [
        *RUN,
        f"objective={objective}",
        "trainer.max_epochs=1",
        "callbacks.attention.heatmaps=1",
        "+callbacks.kill._target_=kill.Kill",
    ]
    if objective == "scheduled_sampling":
        run.append("module.objective.ramp_steps=10")
    program(*run, "name=whole", cwd=tmp_path, KILL_AT="setup 0", check=0)
    killed = program(*run, "name=run", cwd=tmp_path, KILL_AT="on_train_batch_start 6")
    assert killed.status == -signal.SIGKILL
    program(*run, "name=run", cwd=tmp_path, check=0)
    assert_same_result(tmp_path / "runs/baseline/whole", tmp_path / "runs/baseline/run")


@pytest.mark.long
def test_a_killed_run_on_a_corpus_on_disk_continues_to_the_same_result(program, tmp_path):
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kill.py").write_text(KILL)
        for side, text in (("en", "the key {} is small"), ("fr", "la clef {} est petite")):
            lines = [" ".join([text.format(number % 7)] * (number % 3 + 1)) + "\n" for number in range(80)]
            (tmp_path / folder / f"text.{side}").write_text("".join(lines))
    run = [*RUN, "data=large", "data.source_language=en", "data.target_language=fr", "name=run",
           *(f"data.{split}.{side}=text.{end}" for split in ("train", "validation")
             for side, end in (("source", "en"), ("target", "fr")))]  # fmt: skip
    program(*run, cwd=tmp_path / "whole", check=0)
    killed = [*run, "+callbacks.kill._target_=kill.Kill"]
    at = "on_train_batch_start 13"  # after the checkpoint of step 12, within the second epoch
    assert program(*killed, cwd=tmp_path / "killed", KILL_AT=at).status == -signal.SIGKILL
    program(*killed, cwd=tmp_path / "killed", check=0)
    assert_same_result(*(tmp_path / folder / "runs/large/run" for folder in ("whole", "killed")))


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.long),
    ],
)
def test_a_signal_saves_within_a_step_and_the_same_command_continues(
    whole, launch, program, tmp_path, number, status
):
    checkpoints = tmp_path / "runs/baseline/run/checkpoints"
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup, which children inherit
    started = launch(*RUN, "name=run", cwd=tmp_path)
    signal.signal(signal.SIGHUP, before)
    wait_for(checkpoints / "last.ckpt")
    started.send(number)
    assert started.wait() == status, started.text
    assert "the same command continues" in started.text
    assert "Traceback" not in started.text
    saved = torch.load(checkpoints / "last.ckpt", weights_only=True)
    assert 0 < saved["seconds"] < 600
    torch.save(saved | {"seconds": 1000.0}, checkpoints / "last.ckpt")
    program(*RUN, "name=run", cwd=tmp_path, check=0)
    assert_same_result(whole[0], tmp_path / "runs/baseline/run")
    assert 1000 < json.loads((checkpoints.parent / "metrics.json").read_text())["seconds"] < 1600


@pytest.mark.long
@pytest.mark.parametrize(
    ("moment", "number", "status"),
    [
        ("on_sanity_check_start 0", signal.SIGTERM, 143),
        ("on_sanity_check_start 0", signal.SIGINT, 130),
        ("on_train_end 24", signal.SIGTERM, 143),
        ("on_fit_end 24", signal.SIGINT, 130),
    ],
)
def test_a_signal_before_the_first_and_after_the_last_step_ends_with_its_status(
    whole, program, tmp_path, moment, number, status
):
    (tmp_path / "kill.py").write_text(KILL)
    run = [*RUN, "name=run", "+callbacks.kill._target_=kill.Kill"]
    done = program(*run, cwd=tmp_path, KILL_AT=moment, NUMBER=str(int(number)))
    assert done.status == status, done.text
    assert "the same command continues" in done.text
    assert "Traceback" not in done.text
    assert not (tmp_path / "runs/baseline/run/metrics.json").exists()
    if moment == "on_train_end 24":
        program(*run, cwd=tmp_path, check=0)
        assert_same_result(whole[0], tmp_path / "runs/baseline/run")


def test_ctrl_c_while_a_run_is_scored_says_that_the_same_command_continues(unfinished, program, tmp_path):
    def scored(*arguments, **options):
        raise KeyboardInterrupt

    def stops():
        scoring.score_searches = scored

    done = program(*RUN, "name=run", cwd=tmp_path, prepare=stops, check=130)
    assert "the same command continues" in done.text
    assert not (unfinished / "metrics.json").exists()


def raises():
    raise RuntimeError from ValueError("another")


@pytest.mark.parametrize("cleanup", [lambda: None.nothing, lambda: OmegaConf.create({"a": 1}).b, raises])
def test_an_error_in_cleaning_up_after_ctrl_c_is_no_mistake_of_the_configuration(cleanup, capsys):
    def clean_up_after(error):
        try:
            raise error
        finally:  # as in OmegaConf, whose nodes are incomplete at some moments
            cleanup()

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit, match="130"), exit_on_error(APPLICATION):
        clean_up_after(KeyboardInterrupt())
    assert signal.signal(signal.SIGINT, handler) is signal.SIG_DFL  # one more ends the process at once
    assert "rror" not in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"[12]"), exit_on_error(APPLICATION):
        clean_up_after(ValueError())


def test_exceptions_in_a_circle_end_in_a_line(capsys):
    """As Lightning raises what TensorBoard's thread has kept, in cleaning up after what came of it."""
    kept = OSError(28, "No space left on device", "events")

    def clean_up():
        try:
            raise ValueError("another") from kept
        except ValueError:
            raise kept  # noqa: B904

    with pytest.raises(SystemExit, match="2"), exit_on_error(APPLICATION):
        clean_up()
    assert "No space left" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("name", ["source.json", "config.yaml"])
def test_a_kill_while_a_file_is_written_loses_nothing_and_training_longer_goes_on(
    whole, program, tmp_path, name
):
    """The finished run is to be trained longer; it is killed in the middle of a file, then once more."""
    run = shutil.copytree(whole[0], tmp_path / "runs/baseline/run")
    kept = {path.name: path.read_bytes() for path in run.glob("tokenizers/*.json")}
    longer = [*RUN, "name=run", "trainer.max_epochs=3"]

    def half():
        real = Path.write_text

        def write(self, data, *arguments, **options):
            real(self, data[: len(data) // 2], *arguments, **options)
            if name in self.name:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, data, *arguments, **options)

        Path.write_text = write

    def late():
        from seq2seq.training import TranslationModule

        TranslationModule.on_train_epoch_start = lambda _: os.kill(os.getpid(), signal.SIGKILL)

    assert program(*longer, cwd=tmp_path, prepare=half).status == -signal.SIGKILL
    assert {path.name: path.read_bytes() for path in run.glob("tokenizers/*.json")} == kept
    assert program(*longer, cwd=tmp_path, prepare=late).status == -signal.SIGKILL
    done = program(*longer, cwd=tmp_path, check=0)  # not "is finished"
    assert "epoch   3/" in done.text
    assert "epoch   2/" not in done.text  # it goes on from the last epoch, not from the best
    assert json.loads((run / "metrics.json").read_text())["steps"] == 36


@pytest.fixture
def unfinished(whole, tmp_path):
    """A run that has its checkpoints and no result."""
    run = shutil.copytree(whole[0], tmp_path / "runs/baseline/run")
    (run / "metrics.json").unlink()
    return run


@pytest.mark.parametrize(
    "damage", ["changed", *(pytest.param(each, marks=pytest.mark.long) for each in ("missing", "cut"))]
)
def test_the_checkpoint_before_a_damaged_or_missing_one_continues(
    whole, unfinished, program, tmp_path, damage
):
    last = unfinished / "checkpoints" / "last.ckpt"
    content = bytearray(last.read_bytes())
    if damage == "missing":
        last.unlink()
    elif damage == "cut":
        last.write_bytes(content[:1000])
    else:
        content[len(content) // 2] ^= 1
        last.write_bytes(content)
    done = program(*RUN, "name=run", cwd=tmp_path, check=0)
    said = damage != "missing"
    assert ("last.ckpt is damaged" in done.text) == ("last.prev.ckpt is used" in done.text) == said
    assert "epoch   1/" not in done.text  # it did not begin again
    assert_same_result(whole[0], unfinished)


def test_a_checkpoint_that_names_other_paths_has_none_of_them_removed(unfinished, program, tmp_path):
    last, other = unfinished / "checkpoints" / "last.ckpt", tmp_path / "other"
    other.mkdir()
    (other / "text").write_text("kept")
    checkpoint = torch.load(last, weights_only=True)
    for name, state in checkpoint["callbacks"].items():
        if name.startswith("ModelCheckpoint"):
            path = f"{last.parent}/../../../../other"
            state |= {
                "dirpath": str(last.parent),
                "best_k_models": {path: torch.tensor(1e9)},
                "kth_best_model_path": path,
            }
    torch.save(checkpoint, last)
    program(*RUN, "name=run", "trainer.max_epochs=3", cwd=tmp_path, check=0)
    assert (other / "text").read_text() == "kept"


def test_two_damaged_checkpoints_are_one_line(unfinished, program, tmp_path):
    for name in ("last.ckpt", "last.prev.ckpt"):
        (unfinished / "checkpoints" / name).write_bytes(b"nothing")
    done = program(*RUN, "name=run", cwd=tmp_path, check=1)
    assert "Traceback" not in done.text
    assert "is damaged" in done.text.splitlines()[-1]
    assert "remove it" in done.text.splitlines()[-1]


def test_a_continued_run_imports_no_class_that_only_its_folder_names(unfinished, program, tmp_path):
    (tmp_path / "hostile.py").write_text("open('proof', 'w')")
    file = unfinished / "tokenizers" / "source.json"
    file.write_text(file.read_text().replace("seq2seq.data.tokenizers.", "hostile."))
    assert "not part of this program" in program(*RUN, "name=run", cwd=tmp_path, check=2).text
    assert not (tmp_path / "proof").exists()


@pytest.mark.long
def test_a_full_disk_loses_no_earlier_checkpoint_and_is_said(whole, launch, program, tmp_path):
    run = tmp_path / "runs/baseline/run"
    last = run / "checkpoints" / "last.ckpt"
    started = launch(*RUN, "name=run", cwd=tmp_path)
    wait_for(run / "checkpoints" / "last.prev.ckpt")
    started.send(signal.SIGKILL)
    started.wait()
    before = last.read_bytes()
    limit = len(before) // 2

    def full():  # files can grow no further than half a checkpoint
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = program(*RUN, "name=run", cwd=tmp_path, prepare=full, check=1)
    assert "cannot be written" in done.text.splitlines()[-1]
    assert "Traceback" not in done.text
    kept = [path.read_bytes() for path in (last, last.with_name("last.prev.ckpt")) if path.exists()]
    assert before in kept
    program(*RUN, "name=run", cwd=tmp_path, check=0)
    assert_same_result(whole[0], run)


@pytest.mark.long
def test_two_processes_in_one_folder_are_one_at_a_time(launch, program, tmp_path):
    first = launch(*RUN, "name=run", cwd=tmp_path)
    wait_for(tmp_path / "runs/baseline/run/config.yaml")
    second = program(*RUN, "name=run", cwd=tmp_path, check=2)
    assert "another process" in second.text.splitlines()[-1]
    assert first.wait() == 0, first.text


@pytest.mark.parametrize("has_met", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_second_process_ends_when_the_first_was_killed_before_they_met(launch, tmp_path, has_met):
    """Of two processes of a training; the second one starts, or waits for the first one, at that moment."""
    reader, writer = os.pipe()  # open as long as one of the two lives

    def killed_when_they_meet():
        for each in (1, 2):
            os.dup2(writer, each)
        os.close(writer)
        import torch.distributed

        def die(*_, **__):
            if has_met:
                with socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"]))) as server:
                    select.select([server], [], [])  # the second one connects
            os.kill(os.getpid(), signal.SIGKILL)

        torch.distributed.init_process_group = die

    two = ["device=ddp", "trainer.accelerator=cpu"]
    started = launch(*RUN, *two, "name=run", cwd=tmp_path, prepare=killed_when_they_meet)
    os.close(writer)
    assert started.wait() == -signal.SIGKILL
    text = b""
    while select.select([reader], [], [], 100)[0] and (read := os.read(reader, 4096)):
        text += read
    assert not read, text
    assert b"the first process of this training has ended" in text


def test_weights_that_are_not_finite_end_a_training_with_a_line(program, tmp_path):
    done = program(*TINY, "optimizer=sgd", "optimizer.lr=1e37", "trainer.gradient_clip_val=null",
                   "trainer.max_epochs=3", "averaging=none", cwd=tmp_path)  # fmt: skip
    assert done.status == 1, done.text
    assert "Traceback" not in done.text
    assert "NaN" in done.text.splitlines()[-1]
    assert "optimizer.lr" in done.text.splitlines()[-1]


def test_a_training_that_changes_no_weight_ends_with_a_line(program, tmp_path):
    done = program(*TINY, "optimizer.lr=1e-30", cwd=tmp_path, check=1)
    assert "Traceback" not in done.text
    assert "optimizer.lr" in done.text.splitlines()[-1]
    assert not list(tmp_path.rglob("metrics.json"))


def test_a_training_whose_output_has_no_reader_does_not_end_with_status_0(program, tmp_path):
    def broken():
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)

    assert program(*TINY, cwd=tmp_path, prepare=broken).status == 128 + signal.SIGPIPE
    assert not list(tmp_path.rglob("metrics.json"))


HOSTILE = [
    "pickle", "class path", "huge vocabulary", "nan", "truncated", "wrong shape", "not json", "deep json",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_folder_from_elsewhere_runs_no_code(program, tiny_run, tmp_path, name, capfd):
    model = tmp_path / "model"
    shutil.copytree(tiny_run / "model", model)
    proof = tmp_path / "proof"
    config, weights = model / "config.json", model / "model.safetensors"
    described = json.loads(config.read_text())
    del described["sha256"]
    if name == "pickle":

        class Attack:
            def __reduce__(self):
                return os.system, (f"touch '{proof}'",)

        torch.save({"weight": Attack()}, weights)
    elif name == "class path":
        (tmp_path / "hostile.py").write_text(f"open({str(proof)!r}, 'w')\nclass Encoder: pass\n")
        described["model"]["encoder"]["_target_"] = "hostile.Encoder"
    elif name == "huge vocabulary":
        described["model"]["source_vocab_size"] = 10**12
    elif name == "nan":
        from safetensors.torch import save_file

        state = load_file(weights)
        state["decoder.output.bias"][3] = torch.nan
        save_file(state, weights)
    elif name == "truncated":
        weights.write_bytes(weights.read_bytes()[:5000])
    elif name == "wrong shape":
        described["model"]["embedding_size"] = 3
    config.write_text("[" * 100_000 if name == "deep json" else json.dumps(described))
    if name == "not json":
        config.write_bytes(b"\xff\xfe{")
    assert_refused(model, capfd)
    if name == "class path":
        assert "not part of this program" in program(*RUN, f"init_from={model}", cwd=tmp_path, check=2).text
    assert not proof.exists()


def assert_refused(model, capfd):
    """The folder of a model is refused in one line."""
    with pytest.raises(SystemExit) as end:
        main(["translate", str(model), "the cats sleep ."])
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert (end.value.code, line[:7], len(line) < 600) == (2, "error: ", True)


def test_a_hostile_tokenizer_file_is_one_line(tiny_run, tmp_path, capfd):
    model = tmp_path / "model"
    many = '{"tokens": ' + str(["x"] * 1_000_001).replace("'", '"') + "}"
    for content in ("[]", '{"kind": "os.system"}', many, "{"):
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(tiny_run / "model", model)
        forget_checksums(model)
        (model / "source.json").write_text(content)
        assert_refused(model, capfd)


def test_a_file_in_place_of_a_folder_of_the_run_is_named_before_the_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("predictions", "model", "metrics.json/"):
        path = tmp_path / "runs/baseline" / name.strip("/") / name
        path.parent.mkdir(parents=True)
        path.mkdir() if name.endswith("/") else path.touch()
        for more in ((), ("overwrite=true",)):
            with pytest.raises(InputError, match=re.escape(str(path))):
                train(*TINY, f"name={name.strip('/')}", *more)
            assert not (path.parent / "config.yaml").exists()
