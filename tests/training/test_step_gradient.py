"""The gradient of an optimizer step is that of one batch of all its sentences, whatever the batches and processes.

The oracle is a plain backward pass over each sentence alone, in float64.
"""

import itertools
import math
import random
from functools import partial
from types import SimpleNamespace

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import GradientAccumulationScheduler
from lightning.pytorch.plugins import MixedPrecision
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from seq2seq.common.errors import InputError, TrainingFailed
from seq2seq.data import PairsCorpus, SentencePair, WhitespaceTokenizer
from seq2seq.data.batch import Batch
from seq2seq.training import LossSums, MinimumRisk, TranslationModule
from seq2seq.training.losses import StepMean
from seq2seq.training.objectives import minimum_risk
from seq2seq.training.resume import ResumeState
from tests.small import model_of
from tests.training.test_minimum_risk import bleu, log_probability
from tests.training.test_module import TRAINER

pytestmark = pytest.mark.filterwarnings(
    "ignore:You defined a `validation_step`", "ignore:The number of training batches",
    "ignore:When using .Trainer.accumulate_grad_batches",
)  # fmt: skip
SIZES = [1, 4, 2, 5, 3, 1, 2]
"""Numbers of pairs of the batches of one process."""


def linked_pairs(count):
    """Sentences that grow from 1 to 9 words, with links, so that batches differ in tokens and in links."""
    draw = random.Random(3)
    for number in range(count):
        source, target = (
            [f"{side}{draw.randrange(6)}" for _ in range(1 + number // 3 + draw.randrange(3))]
            for side in "st"
        )
        links = {(draw.randrange(len(source)), draw.randrange(len(target))) for _ in range(number % 4)}
        yield SentencePair(" ".join(source), " ".join(target), tuple(sorted(links)))


PAIRS = list(linked_pairs(2 * sum(SIZES)))


class Data(PairsCorpus):
    """The batches, which processes take in turn."""

    def __init__(self, sizes):
        super().__init__(train=PAIRS, validation=PAIRS[:1], tokenizer=WhitespaceTokenizer)
        ids = iter(range(sum(sizes)))
        self.batches = [
            Batch.from_split(self.prepared.train, [*itertools.islice(ids, size)]) for size in sizes
        ]

    def train_dataloader(self):
        mine = self.batches[self.trainer.global_rank :: self.trainer.world_size]
        return DataLoader(mine, batch_size=None)


class Gradients(pl.Callback):
    """Keeps the gradients of each step as a callback sees them, and writes them to a file."""

    def __init__(self, path=None):
        self.steps, self.losses, self.path = [], [], path

    def on_before_optimizer_step(self, trainer, module, optimizer):
        grads = [None if p.grad is None else p.grad.clone() for p in module.parameters()]
        self.steps.append(grads)

    def on_train_batch_end(self, trainer, module, *_):
        if "train/loss" in trainer.callback_metrics:
            self.losses.append(float(trainer.callback_metrics["train/loss"]))

    def on_fit_end(self, trainer, module):
        if self.path and trainer.is_global_zero:
            torch.save((self.steps, self.losses), self.path)


def candidates_of(sentence_id):
    draw = random.Random(sentence_id)
    return [(*(draw.randrange(4, 9) for _ in range(draw.randrange(1, 5))), 3) for _ in range(4)]


def sentence_loss(model, batch, smoothing=0.0):
    features, _ = model(batch)
    logits = model.decoder.output(features[0])
    return cross_entropy(logits, batch.target_output[0], reduction="sum", label_smoothing=smoothing)


def guided_loss(model, batch):
    pair = PAIRS[int(batch.sentence_ids[0])]
    weights, loss = model(batch)[1][0, :, 0], sentence_loss(model, batch)
    for row in range(len(pair.target.split())):
        linked = [source for source, target in pair.alignment if target == row]
        for column in linked:
            loss = loss - 0.7 / len(linked) * weights[row, column].log()
    return loss


def risk_loss(model, batch):
    source, target = batch.source.ids[0, :-1].tolist(), batch.target_output[0, :-1].tolist()
    candidates = [
        target,
        *map(list, {ids[:-1] for ids in candidates_of(int(batch.sentence_ids[0]))} - {tuple(target)}),
    ]
    logs = torch.stack([log_probability(model, source, each) for each in candidates])
    shares = (0.5 * logs).softmax(0)
    risk = sum(q * (1 - bleu(each, target)) for q, each in zip(shares, candidates, strict=True))
    return (len(target) + 1) * risk - 0.3 * logs[0]


OBJECTIVES = {
    "plain": ({}, sentence_loss),
    "smoothed": ({"label_smoothing": 0.2}, partial(sentence_loss, smoothing=0.2)),
    "risk": ({"objective": MinimumRisk(alpha=0.5, cross_entropy_weight=0.3)}, risk_loss),
    "guided": ({"guided_alignment_weight": 0.7}, guided_loss),
}
"""Options of the module, and the objective of a sentence by the oracle."""


def module_for(kind, sizes=SIZES, **options):
    data = Data(sizes)
    model = model_of(
        source_vocab_size=data.prepared.source_tokenizer.vocab_size,
        target_vocab_size=data.prepared.target_tokenizer.vocab_size,
    ).train()
    return TranslationModule(model, partial(torch.optim.SGD, lr=0.0), **OBJECTIVES[kind][0], **options), data


def expected_gradients(kind, model, data, steps):
    """The gradients of each step, whose batches are named by their places."""
    _, loss_of = OBJECTIVES[kind]
    parameters = list(model.parameters())
    sums, counts = [], []
    for batch in data.batches:
        sentences = [Batch.from_split(data.prepared.train, [index]) for index in batch.sentence_ids.tolist()]
        total = sum(loss_of(model, sentence) for sentence in sentences)
        sums.append(torch.autograd.grad(total, parameters))
        counts.append(sum(int(sentence.target_lengths) for sentence in sentences))
    for step in steps:
        num_tokens = sum(counts[place] for place in step)
        yield [sum(sums[place][i] for place in step) / num_tokens for i in range(len(parameters))]


def assert_equal_steps(found, expected):
    expected = list(expected)
    assert len(found) == len(expected)
    for step, of_step in zip(found, expected, strict=True):
        for gradient, wanted in zip(step, of_step, strict=True):
            torch.testing.assert_close(gradient, wanted, rtol=0, atol=1e-10)


@pytest.fixture
def trained(monkeypatch):
    def fixed(model, batch, num_samples, max_lengths):
        return [candidates_of(index) for index in batch.sentence_ids.tolist()]

    monkeypatch.setattr(minimum_risk, "sample_translations", fixed)

    def train(module, data, callbacks=(), **options):
        seen = Gradients()
        trainer = pl.Trainer(**TRAINER | {"max_epochs": 1, "callbacks": [seen, *callbacks]} | options)
        trainer.fit(module, data)
        return seen.steps, trainer

    return train


def in_steps(k, num_batches=7):
    return [range(start, min(start + k, num_batches)) for start in range(0, num_batches, k)]


@pytest.mark.parametrize(
    ("kind", "k"),
    [("plain", k) for k in range(1, 6)] + [(kind, 3) for kind in OBJECTIVES if kind != "plain"] + [("risk", 1)],
)  # fmt: skip
def test_the_gradient_of_unequal_batches_is_that_of_their_union(trained, kind, k):
    module, data = module_for(kind)
    found, _ = trained(module, data, accumulate_grad_batches=k)
    assert_equal_steps(found, expected_gradients(kind, module.model, data, in_steps(k)))


class OnlyScaled(MixedPrecision):
    """The gradient scaler of float16, without float16."""

    def autocast_context_manager(self):
        return torch.autocast("cpu", enabled=False)


def scaled(scale, plugin=OnlyScaled):
    """Options of a trainer with a gradient scaler, which doubles its scale after two finite steps."""
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=2)
    return {"plugins": [plugin("16-mixed", "cpu", scaler)]}


def test_a_gradient_scaler_changes_no_gradient(trained):
    module, data = module_for("plain")
    found, trainer = trained(module, data, accumulate_grad_batches=2, **scaled(2.0**10))
    assert_equal_steps(found, expected_gradients("plain", module.model, data, in_steps(2)))
    assert (
        trainer.precision_plugin.scaler.get_scale() == 2.0**12
    )  # in float64, which autocast leaves as it is


def test_a_gradient_scaler_leaves_out_steps_that_overflow(trained):
    module, data = module_for("plain")
    module.model.float()
    module.optimizer_factory = partial(torch.optim.SGD, lr=0.1)
    before = [p.detach().clone() for p in module.parameters()]
    found, trainer = trained(module, data, limit_train_batches=2, **scaled(2.0**127, MixedPrecision))
    assert not any(all(p.isfinite().all() for p in step) for step in found)
    assert trainer.precision_plugin.scaler.get_scale() == 2.0**125
    assert all(torch.equal(p, old) for p, old in zip(module.parameters(), before, strict=True))


def test_accumulation_may_change_by_the_epoch(trained):
    module, data = module_for("plain")
    schedule = GradientAccumulationScheduler({0: 1, 1: 3})
    found, _ = trained(module, data, [schedule], max_epochs=2)
    steps = in_steps(1) + in_steps(3)
    assert_equal_steps(found, expected_gradients("plain", module.model, data, steps))


@pytest.mark.parametrize("k", [1, 3])
def test_an_optimizer_that_computes_the_gradient_again_takes_one_batch_a_step(trained, k):
    module, data = module_for("plain")
    module.optimizer_factory = partial(torch.optim.LBFGS, lr=1e-3, max_iter=3)
    if k == 1:
        assert len(trained(module, data)[0]) > len(SIZES)
    else:
        with pytest.raises(InputError, match="accumulate_grad_batches=1"):
            trained(module, data, accumulate_grad_batches=k)


def test_the_norm_of_this_gradient_is_logged_and_clipped(trained):
    class Norms(pl.Callback):
        clipped, logged = [], []

        def on_before_zero_grad(self, trainer, module, optimizer):
            self.norms_of(trainer, module)

        def on_train_end(self, trainer, module):
            self.norms_of(trainer, module)

        def norms_of(self, trainer, module):
            grads = [p.grad for p in module.parameters() if p.grad is not None]
            if grads:
                self.clipped.append(float(torch.cat([grad.flatten() for grad in grads]).norm()))
                self.logged.append(float(trainer.callback_metrics["train/total_norm"]))

    module, data = module_for("plain")
    norms = Norms()
    found, _ = trained(
        module, data, [norms], accumulate_grad_batches=3, gradient_clip_val=1e-3, log_every_n_steps=1
    )
    expected = [float(torch.cat([grad.flatten() for grad in step]).norm()) for step in found]
    assert norms.logged == pytest.approx(expected, rel=1e-6)
    assert norms.clipped == pytest.approx([1e-3] * 3, rel=1e-2)


def test_no_clipping_is_asked_for_by_zero(trained):
    module, data = module_for("plain")
    module.optimizer_factory = partial(torch.optim.SGD, lr=0.1)
    before = [p.detach().clone() for p in module.parameters()]
    trained(module, data, gradient_clip_val=0.0)
    assert any(not torch.equal(p, old) for p, old in zip(module.parameters(), before, strict=True))


def broken_by(pair, **values):
    """An objective with NaN or infinity in the batch of a pair."""

    def objective(module, batch):
        features, weights = module(batch)
        sums = module.cross_entropy(batch, features)
        if pair in batch.sentence_ids.tolist():
            sums = LossSums(**{name: getattr(sums, name) for name in LossSums.__slots__} | values)
        return sums, weights

    return objective


@pytest.mark.parametrize(("value", "log_every"), [(float("nan"), 4), (float("inf"), 4), (float("nan"), 1)])
def test_a_step_with_a_batch_that_is_not_finite_is_left_out_as_a_whole(trained, value, log_every, capsys):
    module, data = module_for("plain", objective=broken_by(6, objective=torch.tensor(value, requires_grad=True)),
                              max_nonfinite_steps=1)  # fmt: skip
    module.optimizer_factory = partial(torch.optim.SGD, lr=0.1)
    weights, losses = [], []

    class Weights(pl.Callback):
        def on_train_batch_end(self, trainer, module, *_):
            weights.append(torch.cat([p.detach().flatten() for p in module.parameters()]))
            losses.append(float(trainer.callback_metrics.get("train/loss", 0)))

    _, trainer = trained(module, data, [Weights()], accumulate_grad_batches=2, log_every_n_steps=log_every)
    assert torch.equal(weights[1], weights[3])  # the pair is in the first batch of the second step
    assert all(each.isfinite().all() for each in weights)
    assert not torch.equal(weights[3], weights[5])
    assert trainer.callback_metrics["train/loss"].isfinite()
    assert all(map(math.isfinite, losses))
    assert "training pairs [5, 6]" in capsys.readouterr().err


def test_training_fails_at_too_many_steps_that_are_not_finite(trained):
    module, data = module_for("plain", objective=broken_by(6, objective=torch.tensor(float("nan"), requires_grad=True)))  # fmt: skip
    with pytest.raises(TrainingFailed, match=r"step 2: the loss .* pairs \[5, 6\]"):
        trained(module, data, accumulate_grad_batches=2)


@pytest.mark.parametrize(
    ("callbacks", "options"),
    [
        (list, lambda: {"accumulate_grad_batches": 4}),
        (list, lambda: {"accumulate_grad_batches": 4} | scaled(2.0**10)),
        (lambda: [ResumeState(), GradientAccumulationScheduler({0: 1, 1: 4})], dict),
    ],
    ids=["float64", "scaled", "by the epoch"],
)
def test_a_run_that_stops_between_the_batches_of_a_step_continues_with_the_same_weights(
    callbacks, options, tmp_path
):
    pairs = list(linked_pairs(20))
    path = tmp_path / "between.ckpt"

    def trained_weights(*others, ckpt_path=None):
        data = PairsCorpus(train=pairs, validation=pairs[:1], tokenizer=WhitespaceTokenizer, batch_size=2)
        sizes = {"source_vocab_size": data.prepared.source_tokenizer.vocab_size,
                 "target_vocab_size": data.prepared.target_tokenizer.vocab_size}  # fmt: skip
        module = TranslationModule(model_of(**sizes).train(), partial(torch.optim.Adam, lr=0.01))
        trainer = pl.Trainer(**TRAINER, max_epochs=2, callbacks=[*callbacks(), *others], **options())
        trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
        return [p.detach() for p in module.parameters()]

    class Save(pl.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            if trainer.current_epoch == 1 and batch_idx == 5:
                trainer.save_checkpoint(path)

    undisturbed = trained_weights(Save())
    for one, other in zip(undisturbed, trained_weights(ckpt_path=path), strict=True):
        assert torch.equal(one, other)


def test_two_processes_divide_by_the_tokens_of_both():
    """A stand-in for a process: the other one has the same batch, and DDP makes the mean of both gradients."""
    strategy = SimpleNamespace(reduce=lambda sums, reduce_op: sums * {"sum": 2, "mean": 1}[reduce_op])
    trainer = SimpleNamespace(world_size=2, accumulate_grad_batches=1, strategy=strategy)
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    objective, num_tokens = 12 * weight.sum(), torch.tensor(4)
    of_batch = LossSums(objective, objective, torch.tensor(0), num_tokens)
    StepMean().add(0, of_batch, SimpleNamespace(trainer=trainer)).backward()
    assert weight.grad.tolist() == [12 / 4]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["plain", "guided"])
def test_two_processes_take_the_same_step_as_one(kind, tmp_path):
    """An epoch of seven batches a process for each k from 1 to 5; all last steps but the first are incomplete."""
    module, data = module_for(kind, [*SIZES, *reversed(SIZES)])
    path = tmp_path / "gradients.pt"
    schedule = GradientAccumulationScheduler({k - 1: k for k in range(1, 6)})
    trainer = pl.Trainer(
        **TRAINER, max_epochs=5, devices=2, strategy="ddp_spawn", use_distributed_sampler=False,
        callbacks=[Gradients(path), schedule], log_every_n_steps=1,
    )  # fmt: skip
    trainer.fit(module, data)
    of_each = [step for k in range(1, 6) for step in in_steps(k)]
    steps = [[2 * place + rank for place in step for rank in (0, 1)] for step in of_each]
    found, losses = torch.load(path)
    assert_equal_steps(found, expected_gradients(kind, module.model, data, steps))
    logged = [loss for loss, _ in itertools.groupby(losses)]  # a loss stays until the next step
    for step, loss in zip(steps, logged, strict=True):
        sentences = [i for place in step for i in data.batches[place].sentence_ids.tolist()]
        sums = [
            sentence_loss(module.model, Batch.from_split(data.prepared.train, [i])).item() for i in sentences
        ]
        num_tokens = sum(len(data.prepared.train.target[i]) + 1 for i in sentences)
        assert loss == pytest.approx(sum(sums) / num_tokens, rel=1e-5)
