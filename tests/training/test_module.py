"""The Lightning module against a plain loop, and the mean of epochs against the weights themselves."""

import copy
import io
import json
import re
import time
from functools import partial

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import GradientAccumulationScheduler, RichProgressBar, TQDMProgressBar
from lightning.pytorch.plugins.precision import MixedPrecision
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from lightning_exact_resume import BorderCallback
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus, SentencePair, WhitespaceTokenizer
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.batching import BatchSize
from seq2seq.decoding.scoring import score_searches
from seq2seq.decoding.search import GREEDY
from seq2seq.decoding.translator import Translator
from seq2seq.models.folder import SavedModel
from seq2seq.models.limits import LengthLimits
from seq2seq.training import AttentionLogger, TranslationModule, warmup_constant
from seq2seq.training.lines import EpochLines, Report
from seq2seq.training.resume import ResumeState
from tests.small import model_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:You defined a `validation_step`", "ignore:The number of training batches"
)
TRAINER = {
    "accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False,
    "enable_checkpointing": False, "num_sanity_val_steps": 0, "limit_val_batches": 0,
}  # fmt: skip
SENTENCES = Sentences.from_lists([[4 + (i * j) % 7 for j in range(1 + i % 5)] for i in range(15)])
BATCHES = [Batch.from_split(EncodedSplit([], SENTENCES, SENTENCES), range(i, i + 3)) for i in range(0, 15, 3)]
"""Five batches of three pairs, whose lengths differ."""


class Data(pl.LightningDataModule):
    """The batches as a data module."""

    def train_dataloader(self):
        return DataLoader(BATCHES, batch_size=None)


class Logged(pl.Callback):
    """Keeps what is logged, and the weights at the ends of epochs."""

    def __init__(self):
        self.losses, self.weights = [], []

    def on_train_batch_end(self, trainer, module, *_):
        if "train/loss" in trainer.callback_metrics:
            self.losses.append(float(trainer.callback_metrics["train/loss"]))

    def on_train_epoch_end(self, trainer, module):
        self.weights.append([each.detach().clone() for each in module.parameters()])


def losses_of(model, batch):
    features, _ = model(batch)
    is_token = batch.target_is_token
    logits = model.decoder.output(features[is_token])
    return cross_entropy(logits, batch.target_output[is_token], reduction="none")


@pytest.mark.parametrize("clip", [None, 0.05])
def test_a_training_is_the_plain_loop_over_means_of_tokens_with_clipped_gradients(clip):
    model = model_of().float().train()
    plain, logged = copy.deepcopy(model), Logged()
    module = TranslationModule(model, partial(torch.optim.SGD, lr=0.5))
    trainer = pl.Trainer(
        **TRAINER, max_epochs=1, callbacks=[logged], gradient_clip_val=clip, log_every_n_steps=2
    )
    trainer.fit(module, Data())
    optimizer, sums = torch.optim.SGD(plain.parameters(), lr=0.5), []
    for batch in BATCHES:
        losses = losses_of(plain, batch)
        optimizer.zero_grad()
        losses.mean().backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(plain.parameters(), clip)
        optimizer.step()
        sums.append(losses.detach())
    for found, expected in zip(module.model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    pairs = [torch.cat(sums[:2]).mean(), torch.cat(sums[2:4]).mean()]
    assert logged.losses == pytest.approx([float(pairs[0])] * 2 + [float(pairs[1])] * 2, rel=1e-5)


@pytest.mark.parametrize("given", [Data(), Data().train_dataloader()], ids=["module", "loader"])
@pytest.mark.parametrize(
    ("options", "steps"),
    [({}, 15), ({"accumulate_grad_batches": 2}, 9), ({"max_steps": 7}, 7), ({"limit_train_batches": 2}, 6),
     ({"limit_train_batches": 0.6}, 9)],
)  # fmt: skip
def test_a_schedule_is_told_the_optimizer_steps_that_follow(options, steps, given):
    told, done = [], []

    def schedule(optimizer, total_steps):
        told.append(total_steps)
        return warmup_constant(optimizer)

    module = TranslationModule(model_of().float().train(), scheduler=schedule)
    module.on_train_end = lambda: done.append(module.trainer.global_step)
    pl.Trainer(**TRAINER, max_epochs=3, **options).fit(module, given)
    assert told == done == [steps]


def test_a_test_of_the_trainer_scores_the_test_split():
    pairs = [("a b", "b a"), ("b", "b"), ("a", "a")]
    data = PairsCorpus(train=pairs, validation=pairs[:1], test=pairs[1:], batch_size=1)
    sizes = [side.vocab_size for side in data.tokenizers]
    model = model_of(source_vocab_size=sizes[0], target_vocab_size=sizes[1])
    module = TranslationModule(model)
    trainer = pl.Trainer(**TRAINER | {"limit_val_batches": None})
    (validated,) = trainer.validate(module, data, verbose=False)
    assert validated.keys() >= {"val/loss", "val/bleu"}
    (tested,) = trainer.test(module, data, verbose=False)
    batch = Batch.from_split(data.prepared.test, [0, 1])
    assert tested["test/loss"] == pytest.approx(losses_of(model, batch).mean().item(), rel=1e-5)
    assert module.scores.sums.translations.keys() == {0, 1}
    assert not any(name.startswith("val") for name in tested)


def test_the_gold_links_are_those_of_the_corpus_that_is_validated_on():
    errors, module = [], None
    for links in (((0, 0), (1, 1)), ((0, 1), (1, 0))):
        pairs = [SentencePair("a b", "c d", links)]
        data = PairsCorpus(train=pairs, validation=pairs)
        sizes = [side.vocab_size for side in data.tokenizers]
        model = model_of(source_vocab_size=sizes[0], target_vocab_size=sizes[1])
        module = module or TranslationModule(model)
        trainer = pl.Trainer(**TRAINER | {"limit_val_batches": None})
        (validated,) = trainer.validate(module, data, verbose=False)
        errors.append(validated["val_alignment/aer"])
    assert sum(errors) == pytest.approx(1.0)  # each link of the attention is in one of them


class Halves(WhitespaceTokenizer):
    """Cuts words in two with marks that the words do not have."""

    def split(self, text):
        return [piece for word in text.split() for piece in (f"{word[:2]}@@", word[2:])]


def test_pairs_whose_tokens_do_not_spell_their_words_have_no_alignment_and_one_warning(capsys):
    pairs = [SentencePair(text, text, ((0, 0), (1, 1))) for text in ("good dogs", "fine cats", "some mice")]
    data = PairsCorpus(train=pairs, validation=pairs, tokenizer=Halves, batch_size=1)
    sizes = [side.vocab_size for side in data.tokenizers]
    model = model_of(source_vocab_size=sizes[0], target_vocab_size=sizes[1])
    module = TranslationModule(model.train())
    trainer = pl.Trainer(**TRAINER | {"limit_val_batches": None}, max_epochs=1, log_every_n_steps=1)
    trainer.fit(module, data)
    assert "val/loss" in trainer.callback_metrics
    assert not any(name.startswith("val_alignment") for name in trainer.callback_metrics)
    assert capsys.readouterr().err.count("do not spell") <= 2  # of training and of validation


def test_an_optimizer_in_place_of_its_factory_is_refused():
    model = model_of()
    with pytest.raises(InputError, match=r"optimizer: give a class or functools\.partial"):
        TranslationModule(model, torch.optim.SGD(model.parameters(), lr=0.1))


def test_blank_lines_are_scored_as_evaluate_scores_them():
    pairs = [
        SentencePair(*each)
        for each in (("a b", "c d e"), (" ", "d e"), ("b a", ""), ("\u200b", ""), ("a", "c d"))
    ]
    data = PairsCorpus(train=pairs, validation=pairs, batch_size=2)
    sizes = {
        f"{side}_vocab_size": getattr(data.prepared, f"{side}_tokenizer").vocab_size
        for side in ("source", "target")
    }
    limits = LengthLimits(max_ratio=1.0)
    module = TranslationModule(model_of(**sizes).float(), partial(torch.optim.SGD, lr=0.5), limits=limits)
    trainer = pl.Trainer(**TRAINER | {"limit_val_batches": 1.0})
    (logged,) = trainer.validate(module, data, verbose=False)
    translator = Translator(
        SavedModel(
            module.model.eval(), data.prepared.source_tokenizer, data.prepared.target_tokenizer, limits
        ),
        device=torch.device("cpu"),
        batch_size=BatchSize(None, 100),
    )
    scored = score_searches(translator, data.prepared.validation.pairs, GREEDY)["greedy"]
    assert module.limits == LengthLimits(max_ratio=1.0, max_source=3)  # <eos> included
    assert len(scored.texts) == len(pairs)
    assert [scored.texts[1], scored.texts[3]] == ["", ""]
    for name in ("bleu", "chrf", "exact_match"):
        assert logged[f"val/{name}"] == pytest.approx(scored.scores[name], rel=1e-5)


def test_the_line_of_an_epoch_is_not_broken_by_a_narrow_bar():
    screen = io.StringIO()
    bar = RichProgressBar(console_kwargs={"file": screen, "width": 40, "force_terminal": True})
    options = TRAINER | {"enable_progress_bar": True, "max_epochs": 2, "log_every_n_steps": 1}
    trainer = pl.Trainer(**options, callbacks=[bar, EpochLines()])
    trainer.fit(TranslationModule(model_of().train()), DataLoader(BATCHES, batch_size=None))
    assert re.search(r"epoch .*tokens/s.* left", screen.getvalue())
    assert "Epoch 2/2" in screen.getvalue()  # as the lines count


def test_the_speed_is_of_the_batches_alone_and_epochs_without_a_limit_are_said_so(monkeypatch, capsys):
    """A second for each batch, a hundred for a validation, and a thousand between epochs."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Clock(pl.Callback):
        def __init__(self):
            self.speeds = []

        def on_train_batch_start(self, trainer, *_):
            clock[0] += 1

        def on_train_batch_end(self, trainer, *_):
            if "train/tokens_per_second" in trainer.logged_metrics:
                self.speeds.append(float(trainer.logged_metrics["train/tokens_per_second"]))

        def on_validation_batch_start(self, *_):
            clock[0] += 100

        def on_train_epoch_end(self, *_):
            clock[0] += 1000

    same = [BATCHES[0]] * 5
    options = {**TRAINER, "limit_val_batches": 1, "val_check_interval": 3}
    trainer = pl.Trainer(
        **options,
        max_epochs=-1,
        max_steps=15,
        callbacks=[timed := Clock(), EpochLines()],
        log_every_n_steps=2,
    )
    module = TranslationModule(model_of().train())
    trainer.fit(module, DataLoader(same, batch_size=None), DataLoader(same, batch_size=None))
    assert len(timed.speeds) > 9
    assert timed.speeds == pytest.approx([float(same[0].target_is_token.sum())] * len(timed.speeds))
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("epoch ")]
    assert len(lines) == 3
    assert not any("/-1" in line for line in lines)


@pytest.mark.parametrize(
    "options", [{"check_val_every_n_epoch": 2}, {"val_check_interval": 4, "check_val_every_n_epoch": None}]
)
def test_reports_count_validations(options, tmp_path):
    trainer = pl.Trainer(
        **TRAINER | {"limit_val_batches": 1},
        **options,
        max_epochs=4,
        callbacks=[Report("val/loss", str(tmp_path))],
    )
    module = TranslationModule(model_of().train())
    trainer.fit(module, DataLoader(BATCHES, batch_size=None), DataLoader(BATCHES, batch_size=None))
    steps = [json.loads(line)["step"] for line in (tmp_path / "reports.jsonl").read_text().splitlines()]
    assert steps == [*range(1, 1 + (2 if "val_check_interval" not in options else 5))]


def test_the_bar_counts_epochs_as_the_lines_do_and_tells_the_time_left(capsys):
    options = TRAINER | {"enable_progress_bar": True, "max_epochs": 2, "log_every_n_steps": 1}
    trainer = pl.Trainer(**options, callbacks=[TQDMProgressBar(), EpochLines()])
    trainer.fit(TranslationModule(model_of().train()), DataLoader([BATCHES[0]] * 30, batch_size=None))
    said = "".join(capsys.readouterr())
    assert re.search(r"Epoch 1/2:", said)
    assert re.search(r"Epoch 2/2, \d+ s left:", said)  # of the training


def test_a_training_says_how_long_it_takes_also_where_it_continues_within_an_epoch(tmp_path, capsys):
    class Saved(BorderCallback):
        def at_border(self, trainer, *, epoch_ends=False):
            if trainer.global_step == 30:
                trainer.save_checkpoint(tmp_path / "30.ckpt")

    pairs = [("a b", "b a"), ("b", "a"), ("a", "b")] * 100
    data = PairsCorpus(train=pairs, validation=pairs[:1], batch_size=1)
    size = data.prepared.source_tokenizer.vocab_size
    for ckpt_path in (None, tmp_path / "30.ckpt"):
        module = TranslationModule(model_of(source_vocab_size=size, target_vocab_size=size).train())
        options = TRAINER | {"enable_checkpointing": True, "max_epochs": 1, "default_root_dir": tmp_path}
        trainer = pl.Trainer(**options, callbacks=[ResumeState(), Saved(), EpochLines()])
        trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
        (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("length ")]
        assert "300 steps, 1 epoch: about" in line


@pytest.mark.parametrize(
    ("options", "callbacks"),
    [({}, []), ({"accumulate_grad_batches": 2}, []), ({"limit_train_batches": 1}, []),
     ({}, [GradientAccumulationScheduler({1: 5})])],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:When using `Trainer.accumulate")
def test_every_line_of_the_epochs_of_a_small_corpus_has_a_loss(options, callbacks, capsys):
    callbacks = [EpochLines(), *callbacks]
    trainer = pl.Trainer(**TRAINER, **options, max_epochs=2, callbacks=callbacks, log_every_n_steps=20)
    trainer.fit(TranslationModule(model_of().train()), DataLoader(BATCHES, batch_size=None))
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("epoch ")]
    assert [bool(re.search(r"  loss \d\.\d+", line)) for line in lines] == [True, True]


def test_a_line_has_no_score_of_an_earlier_epoch(capsys):
    every = 2 * len(BATCHES) + 1
    trainer = pl.Trainer(
        **{**TRAINER, "limit_val_batches": 1},
        max_epochs=5,
        callbacks=[EpochLines()],
        check_val_every_n_epoch=None,
        val_check_interval=every,
    )
    loader = DataLoader(BATCHES, batch_size=None)
    trainer.fit(TranslationModule(model_of().train()), loader, loader)
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("epoch ")]
    assert ["val loss" in line for line in lines] == [False, False, True, False, True]


@pytest.mark.parametrize("fused", [False, True])
def test_scaled_gradients_of_float16_are_clipped_as_they_are(fused):
    class Norms(pl.Callback):
        def __init__(self):
            self.found = []

        def on_train_batch_end(self, trainer, *_):
            self.found.append(float(trainer.callback_metrics["train/total_norm"]))

    def weights(**options):
        module = TranslationModule(model_of().float().train(), partial(torch.optim.SGD, lr=0.5, fused=fused))
        trainer = pl.Trainer(
            **TRAINER, **options, max_epochs=2, gradient_clip_val=0.1, log_every_n_steps=1,
            callbacks=[norms := Norms()],
        )  # fmt: skip
        trainer.fit(module, DataLoader(BATCHES, batch_size=None))
        return norms.found, torch.cat([each.detach().flatten() for each in module.parameters()])

    half = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))
    (expected, whole), (found, mixed) = weights(), weights(plugins=[half])
    assert found == pytest.approx(expected, rel=0.05)
    torch.testing.assert_close(mixed, whole, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("every", [1, 2])
def test_records_at_the_ends_of_epochs_are_logged_with_and_without_a_validation(every):
    class Logged(AttentionLogger):
        def __init__(self, **options):
            super().__init__(**options)
            self.found = []

        def _log(self, trainer, *_, **__):
            self.found.append(trainer.global_step)

    pairs = [(f"a {n}", f"b {n}") for n in range(12)]
    data = PairsCorpus(train=pairs, validation=pairs, batch_size=4)
    sizes = {
        f"{side}_vocab_size": getattr(data.prepared, f"{side}_tokenizer").vocab_size
        for side in ("source", "target")
    }
    options = TRAINER | {"limit_val_batches": 1}
    logged = Logged(sentences=1, heatmaps=0, steps=[0, 3, 5], every_n_steps=None)
    pl.Trainer(**options, max_epochs=2, check_val_every_n_epoch=every, callbacks=[logged]).fit(
        TranslationModule(model_of(**sizes).train()), datamodule=data
    )
    assert logged.found == [0, 3, 5, 6]
