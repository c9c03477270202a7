"""What a training that continues takes from its configuration, and what from the checkpoint; what is exported of it."""

import re
from functools import partial

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, EMAWeightAveraging, StochasticWeightAveraging
from omegaconf import OmegaConf

from lightning_exact_resume import PeriodicCheckpoint
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus
from seq2seq.models.start import start_from
from seq2seq.run.earlier import Earlier
from seq2seq.run.folder import save_config
from seq2seq.run.sizes import sizes
from seq2seq.training import TranslationModule, moving_average
from seq2seq.training.kept import checkpoint_to_keep, end_in_words, kept_in_words
from seq2seq.training.resume import DurableCheckpointIO, ResumeState
from tests.small import model_of, settings_with
from tests.training.test_module import TRAINER
from tests.training.test_schedules import SCHEDULES

pytestmark = pytest.mark.filterwarnings(
    "ignore:You defined a `validation_step`",
    "ignore:The number of training batches",
    "ignore:SWA is currently",
    "ignore:The checkpoint was not created with WeightAveraging",  # not said by the program
    "ignore:Be aware that when using `ckpt_path`",
)
PAIRS = [("a b", "b a"), ("b", "a"), ("a", "b")] * 3
SAME_WORDS = [("b a", "a b"), ("a", "a"), ("b", "b")] * 3
OTHER_WORDS = [("c d", "d c"), ("c", "d"), ("d", "c")] * 3


class Scripted(TranslationModule):
    """Its validations have a loss by the epoch; it keeps the rates of its steps and the weights with which it begins."""

    losses = (1.0,)

    def on_train_start(self):
        self.began = {name: value.clone() for name, value in self.state_dict().items()}
        self.rates = {}

    def on_before_optimizer_step(self, optimizer):
        self.rates[self.trainer.global_step + 1] = optimizer.param_groups[0]["lr"]

    def on_validation_epoch_end(self):
        self.log("val/loss", self.losses[min(self.trainer.current_epoch, len(self.losses) - 1)])


def fitted(
    folder, epochs, *callbacks, pairs=PAIRS, lr=0.5, schedule=None, losses=(1.0,), ckpt_path=None, alignments=None,
    **options,
):  # fmt: skip
    """A trainer after its training, which leaves last.ckpt in a folder."""
    # five steps an epoch
    data = PairsCorpus(train=pairs, validation=pairs[:1], batch_size=2, alignments=alignments)
    sizes = {
        f"{side}_vocab_size": getattr(data.prepared, f"{side}_tokenizer").vocab_size
        for side in ("source", "target")
    }
    module = Scripted(
        model_of(**sizes).train(),
        partial(options.pop("optimizer", torch.optim.Adam), lr=lr, **options.pop("adam", {})),
        schedule,
    )
    module.losses = losses
    trainer = pl.Trainer(
        **TRAINER | {"enable_checkpointing": True, "limit_val_batches": 1} | options, max_epochs=epochs, default_root_dir=folder,
        plugins=[DurableCheckpointIO()],
        callbacks=[*callbacks, ResumeState(), PeriodicCheckpoint(folder / "checkpoints")],
    )  # fmt: skip
    trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
    return trainer


def last_of(folder):
    return folder / "checkpoints" / "last.ckpt"


@pytest.mark.parametrize("name", ["warmup_cosine", "constant", "annealing", "steps", None])
def test_the_optimizer_of_a_continuation_has_the_arguments_of_its_configuration(name, tmp_path):
    schedule, formula = SCHEDULES.get(name, (None, lambda n, total: 1.0))
    fitted(tmp_path / "one", 1, schedule=schedule)
    longer = {"schedule": schedule, "lr": 0.125, "adam": {"weight_decay": 0.01, "betas": (0.5, 0.6)}}
    trainer = fitted(tmp_path / "two", 2, ckpt_path=last_of(tmp_path / "one"), **longer)
    rates = trainer.lightning_module.rates
    first = rates.pop(6)  # that of the shorter training, where the schedule depends on the length
    assert first == pytest.approx(
        0.125 * formula(5 if name == "warmup_cosine" else 6, 5 if name == "warmup_cosine" else 10)
    )
    assert rates == {n: pytest.approx(0.125 * formula(n, 10)) for n in range(7, 11)}
    group = trainer.optimizers[0].param_groups[0]
    assert (group["weight_decay"], tuple(group["betas"])) == (0.01, (0.5, 0.6))


def test_a_checkpoint_has_the_names_that_earlier_versions_gave(tmp_path):
    """By which a run continues that version 0.4.0 began."""
    fitted(tmp_path, 1)
    saved = torch.load(last_of(tmp_path), weights_only=True)
    assert {
        "corpus",
        "ended_at",
        "seconds",
        "validated_at",
        "sums",
        "interval",
        "total_steps",
    } <= saved.keys()
    assert saved["callbacks"]["ResumeState"].keys() >= {"torch", "python", "numpy"}
    assert saved["corpus"].keys() == {"tokens", "text"}


@pytest.mark.parametrize("averages", [False, True])
def test_a_training_goes_on_from_the_weights_that_the_optimizer_has_reached(averages, tmp_path):
    fitted(tmp_path / "one", 1, EMAWeightAveraging(decay=0.5))
    saved = torch.load(last_of(tmp_path / "one"), weights_only=True)
    callbacks = [EMAWeightAveraging(decay=0.5)] if averages else []
    began = fitted(
        tmp_path / "two", 2, *callbacks, ckpt_path=last_of(tmp_path / "one")
    ).lightning_module.began
    assert all(torch.equal(began[name], value) for name, value in saved["current_model_state"].items())
    assert not all(torch.equal(began[name], value) for name, value in saved["state_dict"].items())


def test_an_average_of_another_kind_begins_with_the_weights_that_the_optimizer_has_reached(tmp_path):
    fitted(tmp_path / "one", 1, EMAWeightAveraging(decay=0.5))
    saved = torch.load(last_of(tmp_path / "one"), weights_only=True)
    trainer = fitted(tmp_path / "two", 2, moving_average(), ckpt_path=last_of(tmp_path / "one"))
    began, mean = trainer.lightning_module.began, torch.load(last_of(tmp_path / "two"), weights_only=True)
    assert all(torch.equal(began[name], value) for name, value in saved["current_model_state"].items())
    assert mean["averaging_state"]["n_averaged"] == 5


def test_scores_of_other_text_do_not_stop_a_training_or_lower_its_rate(tmp_path):
    fitted(tmp_path / "one", 2, EarlyStopping("val/loss", patience=9), losses=(0.1, 0.1))
    on = {"ckpt_path": last_of(tmp_path / "one"), "losses": (0, 0, 3.0, 2.5, 2.0, 1.5)}
    for name, pairs, epochs in (("other", SAME_WORDS, 6), ("same", PAIRS, 3)):
        stopping = EarlyStopping("val/loss", patience=2)
        assert fitted(tmp_path / name, 6, stopping, pairs=pairs, **on).current_epoch == epochs
    plateau = {
        "schedule": partial(torch.optim.lr_scheduler.ReduceLROnPlateau, patience=1),
        "losses": (0.1, 0.1),
    }
    fitted(tmp_path / "flat", 2, **plateau)
    on = plateau | {"ckpt_path": last_of(tmp_path / "flat"), "losses": on["losses"]}
    for name, pairs, is_lowered in (("falling", SAME_WORDS, False), ("known", PAIRS, True)):
        rates = fitted(tmp_path / name, 6, pairs=pairs, **on).lightning_module.rates
        assert (rates[max(rates)] < 0.5) == is_lowered


def test_the_state_of_another_optimizer_or_schedule_is_refused(tmp_path):
    fitted(tmp_path / "one", 1)
    with pytest.raises(InputError, match="another optimizer, without momentum"):
        fitted(tmp_path / "two", 2, optimizer=torch.optim.SGD, ckpt_path=last_of(tmp_path / "one"))
    plateau, steps = torch.optim.lr_scheduler.ReduceLROnPlateau, SCHEDULES["steps"][0]
    of_steps = partial(steps, interval="step")
    for number, (before, now) in enumerate(
        [(plateau, steps), (steps, plateau), (steps, of_steps), (of_steps, steps)]
    ):
        fitted(tmp_path / f"{number}", 1, schedule=before)
        with pytest.raises(InputError, match="another schedule"):
            fitted(tmp_path / "three", 2, schedule=now, ckpt_path=last_of(tmp_path / f"{number}"))


def test_a_run_goes_on_with_the_text_with_which_it_began(tmp_path):
    fitted(tmp_path, 1)
    path = last_of(tmp_path)
    with pytest.raises(InputError, match="text has changed"):
        fitted(tmp_path, 2, pairs=SAME_WORDS, ckpt_path=path)
    for folder in (tmp_path, tmp_path / "another"):
        with pytest.raises(InputError, match="other vocabularies"):
            fitted(folder, 2, pairs=OTHER_WORDS, ckpt_path=path)
    assert fitted(tmp_path / "another", 2, pairs=SAME_WORDS, ckpt_path=path).global_step == 10
    assert fitted(tmp_path, 2, ckpt_path=path).global_step == 10


@pytest.mark.long
def test_a_changed_line_in_the_middle_of_a_large_text_or_of_its_alignments_is_refused(tmp_path):
    many, place, links = PAIRS * 1200, 5_001, tmp_path / "links"
    links.write_text("0-0\n" * len(many))
    short = {"pairs": many, "alignments": str(links), "limit_train_batches": 5}
    fitted(tmp_path, 1, **short)
    path = last_of(tmp_path)
    changed = short | {
        "pairs": [*many[:place], many[place + 2], many[place + 1], many[place], *many[place + 3 :]]
    }
    with pytest.raises(InputError, match="text has changed"):
        fitted(tmp_path, 2, ckpt_path=path, **changed)
    links.write_text("0-0\n" * place + "\n" + "0-0\n" * (len(many) - place - 1))
    with pytest.raises(InputError, match="text has changed"):
        fitted(tmp_path, 2, ckpt_path=path, **short)
    found = torch.load(path, weights_only=True)
    del found["corpus"]["text"][3:]  # an older version's: not that of every line
    torch.save(found, path)
    with pytest.raises(InputError, match="text has changed"):
        fitted(tmp_path, 2, ckpt_path=path, **short | {"pairs": SAME_WORDS * 1200})
    assert fitted(tmp_path, 2, ckpt_path=path, **changed).global_step == 10


class Halved(Callback):
    """Changes the weights when the training has ended, as stochastic weight averaging does."""

    def on_train_end(self, trainer, pl_module):
        for parameter in pl_module.parameters():
            parameter.data /= 2


@pytest.mark.parametrize(
    ("callback", "is_changed"),
    [(Halved, True), (partial(StochasticWeightAveraging, 0.1, 1), True), (partial(EMAWeightAveraging, decay=0.5), False),
     (Callback, False)],
)  # fmt: skip
def test_weights_that_a_callback_changes_at_the_end_are_exported_or_said_to_be_left_out(
    callback, is_changed, tmp_path, capsys
):
    trainer = fitted(tmp_path, 3, callback())
    assert (checkpoint_to_keep(trainer, last_of(tmp_path)) is None) == is_changed
    best = pl.callbacks.ModelCheckpoint(tmp_path / "best" / "checkpoints", "best", monitor="val/loss")
    trainer = fitted(tmp_path / "best", 3, callback(), best)
    assert checkpoint_to_keep(trainer, last_of(tmp_path / "best")) is not None
    assert ("monitor=null" in capsys.readouterr().err) == is_changed


@pytest.mark.parametrize(
    ("losses", "callbacks", "kept", "ended"),
    [
        ((2.0, 3.0, 1.0), [], "step 15 of 15, with the lowest val/loss, 1", None),
        ((2.0, 1.0, 1.0), [], "step 10 of 15, with the lowest val/loss, 1", None),
        ((1.0, 1.0, 1.0), [EarlyStopping("val/loss", patience=1)],
         "step 5 of 10, with the lowest val/loss, 1", "step 10 of 15, by early stopping: .*val/loss"),
    ],
)  # fmt: skip
def test_a_training_says_which_step_is_kept_and_why_it_ended(losses, callbacks, kept, ended, tmp_path):
    best = pl.callbacks.ModelCheckpoint(tmp_path / "checkpoints", "best", monitor="val/loss")
    trainer = fitted(tmp_path, 3, best, *callbacks, losses=losses)
    assert kept_in_words(trainer, checkpoint_to_keep(trainer, last_of(tmp_path))) == kept
    assert re.search(ended, end_in_words(trainer)) if ended else end_in_words(trainer) is None


def test_the_best_of_several_is_linked_and_nothing_else_is_left(tmp_path):
    folder = tmp_path / "checkpoints"
    best = pl.callbacks.ModelCheckpoint(folder, "best-{step}", monitor="val/loss", save_top_k=2)
    trainer = fitted(tmp_path, 2, best, losses=(1.0, 2.0))
    for _ in range(2):
        assert checkpoint_to_keep(trainer, last_of(tmp_path))["global_step"] == 5
    assert (folder / "best.ckpt").samefile(best.best_model_path)
    assert not [*folder.glob("*.partial")]


SQUARE = {"embedding_size": 4, "readout_size": 4}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [({"tie": "all"}, {"tie": "output"}, "model.tie_embeddings=all (now output)"),
     ({}, {"reverse_source": True}, "model.reverse_source=False (now True)"),
     ({"score": "dot"}, {"score": "scaled_dot"}, "DotScore"),
     ({}, {"dropout": 0.5}, "")],
)  # fmt: skip
def test_a_model_that_computes_something_else_from_the_weights_it_starts_from_says_so(old, new, said, capsys):
    sizes = {**SQUARE, "encoder_hidden_size": 3, "decoder_hidden_size": 6}
    start_from(model_of(**sizes | new), model_of(**sizes | old), "init_from=there")
    err = capsys.readouterr().err
    assert said in err
    assert bool(err) == bool(said)


@pytest.mark.parametrize(
    ("devices", "pairs"),
    [(1, 14_000), (2, 7_000), ([0, 1], 7_000), ("2", 7_000), ("0,1", 7_000), ("auto", 14_000), (-1, 14_000)],
)
def test_sizes_follow_the_pairs_of_a_process(devices, pairs):
    trainer = {"max_epochs": 10, "devices": devices, "accelerator": "cpu"}
    model = {side: {"dropout": None} for side in ("encoder", "decoder")}
    config = {"trainer": trainer, "data": {"batch_size": None}, "model": model}
    found, alone = (
        sizes(OmegaConf.create(config), 14_000, {}),
        OmegaConf.create(config | {"trainer": trainer | {"devices": 1}}),
    )
    assert found == sizes(alone, pairs, {})


def test_a_share_of_an_epoch_between_validations_is_of_every_epoch():
    model = {side: {"dropout": 0.1} for side in ("encoder", "decoder")}
    for interval, chosen in ((0.25, {"trainer.check_val_every_n_epoch": 1}), (250, {})):
        trainer = {"max_epochs": 90, "check_val_every_n_epoch": None, "val_check_interval": interval}
        config = OmegaConf.create({"trainer": trainer, "data": {"batch_size": 64}, "model": model})
        assert sizes(config, 14_000, {}) == chosen


def test_a_name_that_begins_as_the_run_is_no_folder_of_it(tmp_path):
    config = {"paths": {"run_dir": str(tmp_path / "a")}, "own": f"{tmp_path}/a/x", "other": f"{tmp_path}/ab"}
    (tmp_path / "a").mkdir()
    save_config(OmegaConf.create(config), tmp_path / "a")
    values = OmegaConf.to_container(OmegaConf.load(tmp_path / "a/config.yaml"))
    assert (values["own"], values["other"]) == ("${paths.run_dir}/x", f"{tmp_path}/ab")


@pytest.mark.parametrize("tie", ["output", "all"])
def test_two_weights_do_not_become_one_without_a_word(tie):
    with pytest.raises(InputError, match=r"give model\.tie_embeddings=none"):
        start_from(model_of(**SQUARE, tie=tie), model_of(**SQUARE), "init_from=there")


def test_a_run_that_starts_from_another_model_is_another_run_and_another_search_has_other_scores(tmp_path):
    def config_of(*overrides):
        return settings_with(*overrides).values

    first = config_of("init_from=a", "decoding.beam_size=5")
    earlier = Earlier(tmp_path, {"init_from": "a", "decoding.beam_size": 5})

    def keys_of(start, config):
        return [key for key in start.differing(config) if key in start.values]

    keys = partial(keys_of, earlier)

    assert keys(first) == keys(config_of()) == earlier.scored_with(first) == []
    assert keys(config_of("init_from=b")) == ["init_from"]
    assert earlier.scored_with(config_of("decoding.beam_size=9")) == ["decoding.beam_size=5"]
    unlimited = Earlier(tmp_path, {"decoding.max_ratio": None})
    assert unlimited.scored_with(config_of("decoding.max_ratio=0.5")) == ["decoding.max_ratio=null"]
    own = Earlier(
        tmp_path, {"callbacks.progressive._target_": "mine.Progressive", "callbacks.attention.sentences": 3}
    )
    assert keys_of(own, first) == ["callbacks.progressive._target_"]  # its name begins as that of another
    longer = Earlier(tmp_path, {"trainer.max_epochs": 2})
    assert longer.scored_with(config_of("trainer.max_epochs=1")) == ["trainer.max_epochs=2"]
