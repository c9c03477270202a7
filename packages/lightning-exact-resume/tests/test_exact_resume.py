"""Trainings that are killed, stopped, damaged or moved come to the result of an undisturbed one."""

import io
import logging
import os
import runpy
import shutil
import signal
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint, StochasticWeightAveraging
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from lightning_exact_resume import (
    BorderCallback,
    CheckpointError,
    DurableCheckpointIO,
    Interrupted,
    PeriodicCheckpoint,
    ResumeState,
    StopOnSignal,
    fit,
    read_checkpoint,
)  # fmt: skip  # isort: skip
from lightning_exact_resume.resume import moved

pytestmark = pytest.mark.filterwarnings(
    "ignore:The '.*_dataloader' does not have many workers",
    "ignore:The number of training batches",
    "ignore:SWA is currently",
    "ignore:Checkpoint directory",
)
README = Path(__file__).parents[1] / "README.md"
OF_EPOCH = 6


class Loader(DataLoader):
    """That of the README."""

    yielded = skipped = 0

    def __iter__(self):
        skipped, self.skipped = self.skipped, 0
        for self.yielded, batch in enumerate(super().__iter__(), 1):
            if self.yielded > skipped:
                yield batch

    def state_dict(self):
        return {"yielded": self.yielded % len(self)}

    def load_state_dict(self, state):
        self.skipped = state["yielded"]


class Tiny(pl.LightningModule):
    """With dropout; its validations have a loss by the epoch."""

    def __init__(self, losses=(1.0,), schedule=None):
        super().__init__()
        self.losses, self.schedule, self.rates = losses, schedule, {}
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.Linear(8, 4))

    def training_step(self, batch):
        return (self.layers(batch[0]) - batch[0]).square().mean()

    def validation_step(self, batch):
        self.log("val/loss", self.losses[min(self.current_epoch, len(self.losses) - 1)])

    def on_before_optimizer_step(self, optimizer):
        self.rates[self.global_step + 1] = optimizer.param_groups[0]["lr"]

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        if self.schedule is None:
            return optimizer
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": self.schedule(optimizer), "monitor": "val/loss"},
        }


def trained(
    folder, *callbacks, losses=(1.0,), schedule=None, continues=False, every=1, max_epochs=3, **options
):
    """A trainer after its training of 6 batches an epoch, which leaves last.ckpt in a folder."""
    pl.seed_everything(1, verbose=False)
    data = TensorDataset(torch.randn(4 * OF_EPOCH, 4))
    loaders = [
        Loader(data, 4, sampler=DistributedSampler(data, 1, 0), generator=torch.Generator()),
        DataLoader(data, 12, generator=torch.Generator()),
    ]
    own = [ResumeState(), PeriodicCheckpoint(folder, every), StopOnSignal()]
    trainer = pl.Trainer(
        max_epochs=max_epochs, default_root_dir=folder, callbacks=[*callbacks, *own], plugins=[DurableCheckpointIO()],
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip
    fit(trainer, Tiny(losses, schedule), *loaders, ckpt_path=folder / "last.ckpt" if continues else None)
    return trainer


def in_a_fork(function, *arguments, **options):
    """Call a function in a process of its own; returns the status, negative for a signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        function(*arguments, **options)
        status = 0
    except SystemExit as end:
        status = end.code
    finally:
        os._exit(status)


def assert_same(folder, other):
    """The last checkpoints are the same: weights, optimizers, schedules, and scores of callbacks."""
    one, two = (torch.load(each / "last.ckpt", weights_only=True) for each in (folder, other))
    for name in ("epoch", "global_step", "lr_schedulers"):
        assert one[name] == two[name]
    for name, value in one["state_dict"].items():
        assert torch.equal(value, two["state_dict"][name]), name
    for number, state in one["optimizer_states"][0]["state"].items():
        for name, value in state.items():
            assert torch.equal(value, two["optimizer_states"][0]["state"][number][name])
    for name, state in one["callbacks"].items():
        if "Stopping" in name:
            assert state == two["callbacks"][name]
        if "ModelCheckpoint" in name:
            assert state["best_model_score"] == two["callbacks"][name]["best_model_score"]


class Sending(Callback):
    """Sends a signal in a batch of the training, counted from 0, in the middle of a write to stderr."""

    def __init__(self, batch, number=signal.SIGKILL):
        self.batch, self.number = batch, number

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.current_epoch * OF_EPOCH + batch_idx == self.batch:
            sys.stderr = MidWrite()
            signal.raise_signal(self.number)


class MidWrite(io.StringIO):
    """As a buffered stream whose write was interrupted."""

    def write(self, text):
        raise RuntimeError("reentrant call")


@pytest.fixture(autouse=True)
def said(monkeypatch, caplog):
    """Lines that the package has logged; what a program that is loaded makes of them is left out."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    logger = logging.getLogger("lightning_exact_resume")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "handlers", [])
    return lambda: [each.getMessage() for each in caplog.records if each.name == "lightning_exact_resume"]


PLATEAU = partial(torch.optim.lr_scheduler.ReduceLROnPlateau, patience=0)
WORSE = {"losses": (1.0, 2.0, 3.0, 4.0)}
KINDS = {
    "plain": {},
    "checkpoints of epochs": {"every": 100},
    "accumulation": {"accumulate_grad_batches": 4},
    "validations": {"val_check_interval": 4},
    "accumulation and validations": {"accumulate_grad_batches": 4, "val_check_interval": 3},
    "max_steps": {"max_epochs": -1, "max_steps": 16},
    "plateau": {"schedule": PLATEAU, **WORSE},
    "plateau and validations": {"schedule": PLATEAU, "val_check_interval": 2, **WORSE},
}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_that_is_stopped_twice_comes_to_the_same_result(kind, number, tmp_path):
    options, folder = KINDS[kind], tmp_path / "stopped"
    named = {"filename": "best", "monitor": "val/loss", "enable_version_counter": False}
    best = partial(ModelCheckpoint, save_on_train_epoch_end=False, **named)
    trained(tmp_path / "whole", best(tmp_path / "whole"), **options)
    for batch, continues in ((8, False), (13, True)):
        run = partial(trained, folder, Sending(batch, number), best(folder), continues=continues, **options)
        if number == signal.SIGKILL:
            assert in_a_fork(run) == -number
        else:
            with pytest.raises(
                Interrupted, match=f"{signal.Signals(number).name}, saved .*last.ckpt"
            ) as stop:
                run()
            assert stop.value.signal_number == number
            step = torch.load(folder / "last.ckpt", weights_only=True)["global_step"]
            of_step = options.get("accumulate_grad_batches", 1)  # the step of the signal is finished
            assert step == batch // OF_EPOCH * -(-OF_EPOCH // of_step) + batch % OF_EPOCH // of_step + 1
    trained(folder, best(folder), continues=True, **options)
    assert_same(tmp_path / "whole", folder)


def test_a_schedule_that_waits_for_validations_follows_each_of_them(tmp_path):
    rates = trained(tmp_path, schedule=PLATEAU, **WORSE).lightning_module.rates
    assert [rates[step] for step in (1, 7, 13)] == pytest.approx([0.1, 0.1, 0.01])


def test_the_example_of_the_readme_is_killed_and_continues(tmp_path, monkeypatch, capfd):
    (tmp_path / "train.py").write_text(
        README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    )
    step, results = torch.optim.Adam.step, []
    for folder, moments in (
        ("whole", [None]),
        ("killed", [(210, signal.SIGKILL), (700, signal.SIGTERM), None]),
    ):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        for moment in moments:

            def counted(self, *arguments, moment=moment, **options):
                result = step(self, *arguments, **options)
                state = self.state[self.param_groups[0]["params"][0]]
                if moment is not None and state["step"] == moment[0]:
                    os.kill(os.getpid(), moment[1])
                return result

            monkeypatch.setattr(torch.optim.Adam, "step", counted)
            status = in_a_fork(runpy.run_path, str(tmp_path / "train.py"))
            assert status == (0 if moment is None else {9: -9, 15: 143}[moment[1]]), capfd.readouterr().err
        results.append(torch.load("checkpoints/last.ckpt", weights_only=True))
    one, two = results
    assert one["global_step"] == two["global_step"] == 1250
    assert all(torch.equal(value, two["state_dict"][name]) for name, value in one["state_dict"].items())


@pytest.mark.parametrize(("handler", "step"), [(signal.SIG_DFL, 3), (signal.SIG_IGN, 6)])
def test_a_closed_terminal_stops_after_the_step_but_under_nohup(handler, step, tmp_path, capfd):
    before = signal.signal(signal.SIGHUP, handler)
    with nullcontext() if handler is signal.SIG_IGN else pytest.raises(Interrupted):
        trained(tmp_path, Sending(2, signal.SIGHUP), max_epochs=1)
    assert signal.signal(signal.SIGHUP, before) is handler
    assert read_checkpoint(tmp_path / "last.ckpt")["global_step"] == step
    assert ("once more" in capfd.readouterr().err) == (handler is signal.SIG_DFL)


@pytest.mark.parametrize(
    ("hook", "number"),
    [
        ("on_sanity_check_start", signal.SIGTERM),
        ("on_train_end", signal.SIGTERM),
        ("on_fit_end", signal.SIGINT),
    ],
)
def test_a_signal_before_the_first_or_after_the_last_step_is_the_same_exception(hook, number, tmp_path):
    class Early(Callback):
        pass

    setattr(Early, hook, lambda *_: signal.raise_signal(number))
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=number.name):
        trained(tmp_path, Early(), max_epochs=1)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("batch", [2, 7, 13, 20])
def test_an_average_of_late_epochs_continues_where_its_schedule_does(batch, tmp_path):
    average = partial(StochasticWeightAveraging, 0.1, 2, annealing_epochs=2)  # from the second of five epochs
    trained(tmp_path / "whole", average(), max_epochs=5)
    with pytest.raises(Interrupted):
        trained(tmp_path / "half", average(), Sending(batch, signal.SIGINT), max_epochs=5)
    is_end = read_checkpoint(tmp_path / "half/last.ckpt")["global_step"] % OF_EPOCH == 0
    assert is_end == (batch > OF_EPOCH)
    trained(tmp_path / "half", average(), continues=True, max_epochs=5)
    assert_same(tmp_path / "whole", tmp_path / "half")


# --- ends ---


def test_early_stopping_of_a_continuation_has_the_patience_of_its_configuration(tmp_path):
    worse = {"losses": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "max_epochs": 9}
    assert trained(tmp_path, EarlyStopping("val/loss", patience=1), **worse).current_epoch == 2
    assert trained(tmp_path, EarlyStopping("val/loss", patience=1), continues=True, **worse).global_step == 12
    patient = EarlyStopping("val/loss", patience=4)
    assert trained(tmp_path, patient, continues=True, **worse | {"max_epochs": 10}).current_epoch == 5


@pytest.mark.parametrize(("losses", "epochs"), [([1, 3, 3, 0.5, 0.4, 0.3], 6), ([1, 3, 3, 3, 0.4, 0.3], 4)])
def test_early_stopping_is_asked_again_after_the_minimum_of_epochs(losses, epochs, tmp_path):
    options = {"losses": [*map(float, losses)], "min_epochs": 4, "max_epochs": 6}
    assert trained(tmp_path, EarlyStopping("val/loss", patience=1), **options).current_epoch == epochs


class Asking(Callback):
    """Asks within a step for the end, as a limit of time does."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.current_epoch == 0 and batch_idx == 0:
            trainer.should_stop = True


@pytest.mark.parametrize("options", [{}, {"accumulate_grad_batches": 3}, {"limit_val_batches": 0}])
def test_a_training_that_was_ended_within_an_epoch_is_trained_longer_as_if_it_had_not_been(options, tmp_path):
    assert trained(tmp_path / "two", Asking(), max_epochs=1, **options).global_step == 1
    trained(tmp_path / "two", continues=True, max_epochs=2, **options)
    trained(tmp_path / "whole", max_epochs=2, **options)
    assert_same(tmp_path / "whole", tmp_path / "two")


class OtherData(ResumeState):
    """Says that the checkpoint has scores of other data."""

    def is_of_other_data(self, trainer, checkpoint, *, own):
        return True


@pytest.mark.parametrize(("state", "epochs"), [(OtherData, 6), (ResumeState, 3)])
def test_scores_of_other_data_do_not_stop_a_training(state, epochs, tmp_path, monkeypatch):
    stopping = partial(EarlyStopping, "val/loss")
    trained(tmp_path, stopping(patience=9), max_epochs=2, losses=(0.1, 0.1))
    monkeypatch.setitem(globals(), "ResumeState", state)
    state.__qualname__ = "ResumeState"
    losses = (0.1, 0.1, 3.0, 2.5, 2.0, 1.5)
    on = trained(tmp_path, stopping(patience=1), continues=True, max_epochs=6, losses=losses)
    assert on.current_epoch == epochs


# --- files ---


def test_the_last_checkpoint_is_written_every_some_steps_and_at_ends_of_epochs(tmp_path, monkeypatch):
    steps, save = [], DurableCheckpointIO.save_checkpoint

    def noted(self, checkpoint, path, storage_options=None):
        steps.append(checkpoint["global_step"])
        save(self, checkpoint, path, storage_options)

    monkeypatch.setattr(DurableCheckpointIO, "save_checkpoint", noted)
    trained(tmp_path, every=4, max_epochs=2)
    assert steps == [4, 6, 8, 12]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "last.prev.ckpt"]


def test_borders_are_ends_of_steps_and_of_the_validations_that_follow(tmp_path):
    class Noting(BorderCallback):
        def __init__(self):
            self.places = []

        def at_border(self, trainer, *, epoch_ends=False):
            validated = "val/loss" in trainer.callback_metrics
            self.places.append((trainer.fit_loop.batch_idx, trainer.global_step, validated, epoch_ends))

    noting = Noting()
    trained(tmp_path, noting, max_epochs=1, accumulate_grad_batches=2, val_check_interval=4, every=9)
    assert noting.places == [(1, 1, False, False), (3, 2, True, False), (5, 3, True, True)]


@pytest.mark.parametrize("damage", ["cut", "bit", "foreign", "missing", "empty"])
def test_the_checkpoint_before_a_damaged_or_missing_one_continues(damage, tmp_path, said):
    trained(tmp_path / "whole")
    with pytest.raises(Interrupted):
        trained(tmp_path / "half", Sending(8, signal.SIGTERM))
    last = tmp_path / "half/last.ckpt"
    content = last.read_bytes()
    middle = len(content) // 2
    torch.save({"a": 1}, last)
    foreign = last.read_bytes()
    last.write_bytes({"cut": content[:middle], "foreign": foreign, "empty": b"",
                      "bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]}.get(damage, b""))  # fmt: skip
    if damage == "missing":
        last.unlink()
    trained(tmp_path / "half", continues=True)
    assert_same(tmp_path / "whole", tmp_path / "half")
    found = [f"{last} is damaged" in line and "last.prev.ckpt is used" in line for line in said()]
    assert found == [True] * (damage != "missing")


def test_two_damaged_checkpoints_are_an_error_that_names_them(tmp_path):
    for name in ("last.ckpt", "last.prev.ckpt"):
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"last\.ckpt is damaged.*last\.prev\.ckpt is damaged"):
        read_checkpoint(tmp_path / "last.ckpt")
    with pytest.raises(CheckpointError, match="is missing"):
        read_checkpoint(tmp_path / "none.ckpt")


def test_a_full_disk_loses_no_earlier_checkpoint(tmp_path, monkeypatch):
    trained(tmp_path / "whole")
    with pytest.raises(Interrupted):
        trained(tmp_path / "full", Sending(8, signal.SIGTERM))
    before = (tmp_path / "full/last.ckpt").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"cannot be written \(No space left on device\)"):
            trained(tmp_path / "full", continues=True)
    assert (tmp_path / "full/last.ckpt").read_bytes() == before
    assert not [*tmp_path.rglob("*.partial")]
    trained(tmp_path / "full", continues=True)
    assert_same(tmp_path / "whole", tmp_path / "full")


def test_only_checkpoints_beside_its_own_are_removed(tmp_path):
    files = DurableCheckpointIO()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        for name in ("a.ckpt", "text"):
            (tmp_path / folder / name).touch()
    files.save_checkpoint({}, tmp_path / "here/b.ckpt")
    for path in [*tmp_path.rglob("*")]:
        files.remove_checkpoint(path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"here", "here/text", "there", "there/a.ckpt", "there/text"}


def test_a_subclass_refuses_files_before_they_are_written(tmp_path):
    class Refusing(DurableCheckpointIO):
        def before_write(self, *paths):
            if any(path.exists() for path in paths):
                raise CheckpointError(f"{paths[0].name} is there")

    files = Refusing()
    files.save_checkpoint({}, tmp_path / "a.ckpt")
    before = (tmp_path / "a.ckpt").read_bytes()
    with pytest.raises(CheckpointError, match=r"a\.ckpt is there"):
        files.save_checkpoint({"other": 1}, tmp_path / "a.ckpt")
    assert (tmp_path / "a.ckpt").read_bytes() == before


def test_a_folder_that_was_moved_keeps_its_best(tmp_path, said):
    def best(folder):
        return ModelCheckpoint(folder, "best-{step}", "val/loss", save_top_k=2)

    losses = {"losses": (1.0, 0.5, 2.0, 3.0), "max_epochs": 4}
    whole = best(tmp_path / "whole")
    trained(tmp_path / "whole", whole, **losses)
    with pytest.raises(Interrupted):
        trained(tmp_path / "old", best(tmp_path / "old"), Sending(14, signal.SIGTERM), **losses)
    shutil.move(tmp_path / "old", tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "less")
    found = best(tmp_path / "new")
    trained(tmp_path / "new", found, continues=True, **losses)
    assert Path(found.best_model_path).name == Path(whole.best_model_path).name == "best-step=12.ckpt"
    assert Path(found.best_model_path).parent == tmp_path / "new"
    assert [*tmp_path.glob("old/*")] == []
    assert {path.name for path in tmp_path.glob("new/*")} == {path.name for path in tmp_path.glob("whole/*")}
    assert not said()
    (tmp_path / "less" / "best-step=12.ckpt").unlink()
    found = best(tmp_path / "less")
    trained(tmp_path / "less", found, continues=True, **losses)
    assert Path(found.best_model_path).name == "best-step=6.ckpt"
    assert "best-step=12.ckpt is missing: the best of the others is kept" in said()[0]


def state_in(folder, *names):
    """What a ModelCheckpoint saves whose checkpoints are in a folder, the best first."""
    paths = [str(Path(folder) / name) for name in names]
    return {"monitor": "val/loss", "best_model_score": torch.tensor(0.0), "best_model_path": paths[0],
            "current_score": torch.tensor(1.0), "dirpath": str(folder), "kth_value": torch.tensor(float(len(names) - 1)),
            "best_k_models": {path: torch.tensor(float(place)) for place, path in enumerate(paths)},
            "kth_best_model_path": paths[-1], "last_model_path": ""}  # fmt: skip


def test_the_state_of_a_moved_run_names_the_files_where_they_are(tmp_path):
    (tmp_path / "a.ckpt").touch()
    (tmp_path / "b.ckpt").touch()
    found = moved(state_in("/somewhere/else", "a.ckpt", "b.ckpt"), tmp_path, own=True, mode="min")
    assert found["best_model_path"] == str(tmp_path / "a.ckpt")
    assert [*found["best_k_models"]] == [str(tmp_path / "a.ckpt"), str(tmp_path / "b.ckpt")]
    assert found["dirpath"] == str(tmp_path)


def test_files_of_another_run_or_outside_of_its_folder_are_forgotten(tmp_path, said):
    (tmp_path / "here").mkdir()
    for name in ("a.ckpt", "here/a.ckpt"):
        (tmp_path / name).touch()
    other = moved(state_in("/somewhere/else", "a.ckpt"), tmp_path / "here", own=False, mode="min")
    outside = moved(state_in("/somewhere/else", "../a.ckpt"), tmp_path / "here", own=True, mode="min")
    missing = moved(state_in("/somewhere/else", "b.ckpt", "a.ckpt"), tmp_path / "here", own=True, mode="min")
    assert not other["best_model_path"]
    assert not other["best_k_models"]
    assert other["best_model_score"] is None
    assert not outside["best_k_models"]
    assert [*missing["best_k_models"]] == [str(tmp_path / "here" / "a.ckpt")]
    assert missing["best_model_path"] == str(tmp_path / "here" / "a.ckpt")  # the best of the others
    assert missing["best_model_score"] == 1
    assert f"{tmp_path / 'here/b.ckpt'} is missing: the best of the others is kept" in said()


def test_a_checkpoint_behind_a_link_or_outside_of_the_run_is_of_the_run(tmp_path):
    """Its best model is not forgotten when the run continues."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "checkpoints").symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "best.ckpt").touch()
    best = ModelCheckpoint(dirpath=tmp_path / "checkpoints", monitor="val/loss")

    def continued(ckpt_path, root):
        trainer = SimpleNamespace(ckpt_path=ckpt_path, default_root_dir=root, max_epochs=2, max_steps=-1, callbacks=[best],
                                  checkpoint_callbacks=[best, PeriodicCheckpoint(tmp_path / "checkpoints")])  # fmt: skip
        states = {best.state_key: state_in(tmp_path / "disk", "best.ckpt")}
        ResumeState().on_load_checkpoint(trainer, None, {"callbacks": states, "ended_at": None})
        return states[best.state_key]["best_model_path"]

    assert continued(tmp_path / "checkpoints" / "last.ckpt", tmp_path)
    assert continued(tmp_path / "checkpoints" / "last.ckpt", tmp_path / "elsewhere")
    assert not continued(tmp_path / "another run" / "last.ckpt", tmp_path)
