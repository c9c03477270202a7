"""Which checkpoint is kept: directions of metrics, names and places of files."""

import json
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import BatchSizeFinder, ModelCheckpoint

from hydra_checked.program import given_keys
from seq2seq import train
from seq2seq.common.errors import InputError
from seq2seq.evaluation.metrics import METRICS, direction_of
from seq2seq.run.checks import checkpoint_files, directions
from seq2seq.training.kept import checkpoint_to_keep
from tests.conftest import TINY
from tests.small import settings_of_choices

LOWER = {"loss", "perplexity", "aer", "ter", "repetition", "omission"}


def plain(hypotheses, references, language):
    return 1.0


def higher(hypotheses, references, language):
    return 1.0


higher.higher_is_better = True


class Lower:
    higher_is_better = False


class Mine(ModelCheckpoint):
    """A checkpoint of the user's that passes its arguments on."""

    def __init__(self, **options):
        super().__init__(**options)


class Finder(BatchSizeFinder):
    """A subclass of the user's."""


def test_the_direction_of_every_metric_is_known():
    for name in METRICS:
        for split in ("train", "val", "test", "val/beam"):
            assert direction_of(f"{split}/{name}") == ("min" if name in LOWER else "max")
    assert direction_of("val/bleu_en-de") == direction_of("val_alignment/recall") == "max"
    assert direction_of("val_alignment/aer") == "min"
    assert (
        direction_of("val_attention/entropy") is direction_of("train/lr") is direction_of("val/bleuu") is None
    )


def test_a_metric_of_the_users_declares_its_direction_and_hides_ours():
    own = {"up": higher, "down": Lower(), "partial": partial(higher, language="en"), "bleu": plain}
    found = {name: direction_of(f"val/{name}", own) for name in own}
    assert found == {"up": "max", "down": "min", "partial": "max", "bleu": None}


class Hidden:
    @property
    def higher_is_better(self):
        return False


def test_a_part_of_a_metric_of_the_users_that_has_the_name_of_ours_is_asked_for():
    """``val/token_accuracy`` is ours, or the part ``accuracy`` of a metric ``token``."""
    assert direction_of("val/token_accuracy", {"token": Lower()}) is None
    assert direction_of("val/token_accuracy", {"token": higher}) == "max"
    assert direction_of("val/bleu_en-de", {"bleu": Lower()}) is None
    assert direction_of("val/token_errors", {"token": Lower()}) == "min"


@pytest.mark.parametrize("metric", [Hidden, partial(Hidden), type("Text", (), {"higher_is_better": "no"})])
def test_a_declaration_that_is_neither_true_nor_false_is_refused(metric):
    with pytest.raises(InputError, match=r"module\.metrics\.own: higher_is_better"):
        direction_of("val/own", {"own": metric})


def completed(*overrides):
    choices = [each for each in overrides if "." not in each]
    given = given_keys([each for each in overrides if "." in each])
    settings = settings_of_choices(*choices).updated(given)
    checkpoint_files(settings.config)
    return settings.updated(directions(settings.config)).config


TUNING = "lightning.pytorch.callbacks"
STOPPING = "callbacks=early_stopping"
OWN = ["+module.metrics.own._partial_=true", "callbacks.checkpoint.monitor=val/own"]
SECOND = ["+callbacks.second._target_=lightning.pytorch.callbacks.ModelCheckpoint"]


@pytest.mark.parametrize(
    ("overrides", "key", "mode"),
    [
        ([], "checkpoint", "min"),
        (["callbacks.checkpoint.monitor=val/bleu"], "checkpoint", "max"),
        (["callbacks.checkpoint.monitor=null"], "checkpoint", "min"),
        (["callbacks.checkpoint.monitor=val_attention/x", "callbacks.checkpoint.mode=max"], "checkpoint", "max"),
        ([STOPPING, "callbacks.early_stopping.monitor=val/chrf"], "early_stopping", "max"),
        ([*SECOND, "+callbacks.second.monitor=val/exact_match"], "second", "max"),
        (["+callbacks.second._target_=tests.training.test_kept.Mine", "+callbacks.second.monitor=val/bleu"],
         "second", "max"),
        ([*OWN, "+module.metrics.own._target_=tests.training.test_kept.higher"], "checkpoint", "max"),
    ],
)  # fmt: skip
def test_callbacks_compare_in_the_direction_of_their_metric(overrides, key, mode):
    assert completed(*overrides).callbacks[key].mode == mode


@pytest.mark.parametrize(
    ("monitor", "wanted"), [("val/loss", False), ("val/bleu", False), ("train/loss", None)]
)
def test_early_stopping_asks_after_the_validation_whose_score_it_compares(monitor, wanted):
    config = completed(STOPPING, f"callbacks.early_stopping.monitor={monitor}")
    assert config.callbacks.early_stopping.check_on_train_epoch_end is wanted


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["callbacks.checkpoint.mode=max"], "callbacks.checkpoint.mode=max"),
        (["callbacks.checkpoint.mode=up"], "callbacks.checkpoint.mode=up"),
        (["callbacks.checkpoint.monitor=val/beam/bleu"], "val/bleu"),
        ([STOPPING, "callbacks.early_stopping.monitor=test/chrf"], "val/chrf"),
        ([STOPPING, "callbacks.early_stopping.monitor=val/bleu", "callbacks.early_stopping.mode=min"],
         "callbacks.early_stopping.mode=min"),
        (["callbacks.checkpoint.monitor=val_attention/entropy"], "callbacks.checkpoint.mode=min or"),
        ([*OWN, "+module.metrics.own._target_=tests.training.test_kept.plain"], "higher_is_better"),
        ([*SECOND, "+callbacks.second.monitor=val/mine"], "callbacks.second.mode=max"),
        (["scheduler=plateau", "scheduler.mode=max"], "scheduler.mode=max"),
        ([f"+callbacks.mine._target_={TUNING}.BatchSizeFinder"], "give data.batch_size=N"),
        (["+callbacks.mine._target_=tests.training.test_kept.Finder"], "give data.batch_size=N"),
        ([f"+callbacks.mine._target_={TUNING}.LearningRateFinder"], "give optimizer.lr=RATE"),
        (["callbacks.checkpoint.filename=last"], "callbacks.checkpoint.filename=last"),
        (["+callbacks.checkpoint.save_last=link"], "callbacks.checkpoint.save_last=link"),
        ([*SECOND, "+callbacks.second.filename=best"], "callbacks.second.filename=best"),
        (["+callbacks.checkpoint.save_top_k=0"], "callbacks.checkpoint.monitor=null"),
        (["+callbacks.checkpoint.every_n_train_steps=3"], "callbacks.checkpoint.every_n_train_steps=3"),
        (["callbacks.checkpoint.save_on_train_epoch_end=true", "trainer.val_check_interval=5"],
         "callbacks.checkpoint.save_on_train_epoch_end=True"),
    ],
)  # fmt: skip
def test_a_wrong_or_unknown_direction_and_a_checkpoint_of_another_model_are_refused(overrides, said):
    with pytest.raises(InputError) as refused:
        completed(*overrides)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "overrides",
    [
        [*SECOND, "+callbacks.second.filename=best", "+callbacks.second.dirpath=elsewhere"],
        ["callbacks.checkpoint.monitor=null", "+callbacks.checkpoint.save_top_k=0"],
        ["callbacks.checkpoint.save_on_train_epoch_end=true"],
        ["callbacks.checkpoint.monitor=train/loss", "+callbacks.checkpoint.every_n_train_steps=3"],
    ],
)
def test_checkpoints_of_their_own_model_and_place_are_kept(overrides):
    assert completed(*overrides)


def test_several_best_checkpoints_have_names_of_their_own():
    counted = completed(
        "+callbacks.checkpoint.save_top_k=2", "callbacks.checkpoint.enable_version_counter=true"
    )
    assert counted.callbacks.checkpoint.filename == "best-{step}"
    assert completed().callbacks.checkpoint.filename == "best"
    assert completed("+callbacks.checkpoint.save_top_k=3").callbacks.checkpoint.filename == "best-{step}"
    kept = completed("+callbacks.checkpoint.save_top_k=-1", "callbacks.checkpoint.filename='a-{step}'")
    assert kept.callbacks.checkpoint.filename == "a-{step}"


def test_a_last_checkpoint_of_an_earlier_step_is_not_kept(tmp_path):
    """As after an earlier start with checkpoints: the module has the weights of the last step."""
    trainer, path = (
        SimpleNamespace(checkpoint_callbacks=[], callbacks=[], global_step=7),
        tmp_path / "last.ckpt",
    )
    for step in (5, 7):
        torch.save({"state_dict": {}, "global_step": step}, path)
        kept = checkpoint_to_keep(trainer, path, tmp_path / "missing.ckpt")
        assert (kept is not None) == (step == 7)


@pytest.mark.parametrize(("lr", "is_worse"), [(3.0, True), (1e-3, False)])
def test_a_training_that_makes_a_model_worse_says_so(lr, is_worse, tiny_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(*TINY, f"init_from={tiny_run}", f"optimizer.lr={lr}")
    (metrics,) = tmp_path.rglob("metrics.json")
    said = [
        line
        for line in json.loads(metrics.read_text())["warnings"]
        if "better than what this training" in line
    ]
    assert [f"init_from={tiny_run}" in line and "val/loss was " in line for line in said] == [True] * is_worse
