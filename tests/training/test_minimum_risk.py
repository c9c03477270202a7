"""Minimum risk training against enumeration: every candidate by a plain loop, in float64."""

import math
from types import SimpleNamespace

import pytest
import torch

from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.evaluation.bleu import smoothed_sentence_bleu
from seq2seq.training import MinimumRisk, TranslationModule
from seq2seq.training.objectives.minimum_risk import sample_translations
from tests.small import batch_of, model_of, steps_of

SOURCES = [[5, 6, 7, 8], [9, 4], [10, 10, 6]]
TARGETS = [[4, 5, 6], [7], [8, 9, 9, 5, 4]]


def batch():
    return batch_of(SOURCES, TARGETS)


def module_of(objective, **options):
    module = TranslationModule(model_of(**options), objective=objective)
    module.trainer = SimpleNamespace(global_step=0)
    module.log = lambda *_, **__: None
    return module


def log_probability(model, source, target):
    """log p(target, <eos> | source), token by token."""
    steps = zip(steps_of(model, source, target), (*target, END_ID), strict=True)
    return sum(logits.log_softmax(-1)[token] for (logits, _), token in steps)


def bleu(found, wanted):
    """BLEU+1 from its formula."""
    if not found:
        return 0.0
    logs = 0.0
    for n in range(1, 5):
        mine = [tuple(found[i : i + n]) for i in range(len(found) - n + 1)]
        left = [tuple(wanted[i : i + n]) for i in range(len(wanted) - n + 1)]
        hits = 0
        for ngram in mine:
            if ngram in left:
                left.remove(ngram)
                hits += 1
        share = (hits + (n > 1)) / (len(mine) + (n > 1))
        if share == 0:
            return 0.0
        logs += math.log(share) / 4
    return math.exp(min(0.0, 1 - len(wanted) / len(found)) + logs)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        ([1, 2], [1, 2, 3]),
        ([7], [1]),
        ([], [1]),
        ([1, 1, 2], [1, 3, 2, 4]),
    ],
)
def test_smoothed_bleu_is_that_of_its_formula(found, wanted):
    assert smoothed_sentence_bleu(found, wanted) == pytest.approx(bleu(found, wanted), abs=1e-12)


@pytest.mark.parametrize(
    ("alpha", "weight", "options"),
    [(0.7, 0.0, {}), (0.005, 0.3, {}), (0.7, 0.3, {"decoder": "luong"}), (0.005, 0.0, {"decoder": "plain"}),
     (0.7, 0.3, {"score": "coverage"})],
)  # fmt: skip
def test_value_and_gradient_are_those_of_enumeration(alpha, weight, options):
    module = module_of(MinimumRisk(num_samples=40, alpha=alpha, cross_entropy_weight=weight), **options)
    model, given = module.model, batch()
    torch.manual_seed(3)
    longest = [length + length // 2 + 5 for length in (len(target) + 1 for target in TARGETS)]
    sampled = sample_translations(model, given, 40, torch.tensor(longest))
    torch.manual_seed(3)
    sums, _ = module.objective(module, given)
    parameters = list(model.parameters())
    found = torch.autograd.grad(sums.objective, parameters, allow_unused=True)

    expected = 0
    for source, target, draws in zip(SOURCES, TARGETS, sampled, strict=True):
        candidates = [target, *map(list, {ids[:-1] for ids in draws} - {tuple(target)})]
        assert len(candidates) > 5
        logs = torch.stack([log_probability(model, source, each) for each in candidates])
        shares = (logs * alpha).exp() / (logs * alpha).exp().sum()
        risk = sum(q * (1 - bleu(each, target)) for q, each in zip(shares, candidates, strict=True))
        expected = expected + (len(target) + 1) * risk - weight * logs[0]
    torch.testing.assert_close(sums.objective, expected)
    wanted = torch.autograd.grad(expected, parameters, allow_unused=True)
    for gradient, other in zip(found, wanted, strict=True):
        assert (gradient is None or not gradient.any()) == (other is None or not other.any())
        if other is not None and gradient is not None:
            torch.testing.assert_close(gradient, other, rtol=1e-6, atol=1e-12)


@torch.no_grad()
def test_samples_have_the_probabilities_of_the_model():
    model, given = model_of(source_vocab_size=11, target_vocab_size=5), batch()
    model.decoder.output.bias[END_ID] += 1
    torch.manual_seed(1)
    drawn = sample_translations(model, given, 4000, torch.full((3,), 12))
    for source, found in zip(SOURCES, drawn, strict=True):
        assert len(found) > 3500  # the others have no end
        for target in ([], [4], [0]):
            share = sum(ids == (*target, END_ID) for ids in found) / 4000
            # padding and <bos> are never drawn: the probabilities of the others grow by their share
            expected = 1.0
            for (logits, _), token in zip(steps_of(model, source, target), (*target, END_ID), strict=True):
                p = logits.softmax(-1)
                expected *= float(p[token] / (1 - p[PADDING_ID] - p[BEGIN_ID]))
            assert share == pytest.approx(expected, abs=0.03)


def test_sampling_reads_without_dropout_and_leaves_the_model_training():
    model, given = model_of(dropout=0.5).train(), batch()
    torch.manual_seed(5)
    first = sample_translations(model, given, 3, torch.full((3,), 9))
    assert model.training
    torch.manual_seed(5)
    assert sample_translations(model.eval(), given, 3, torch.full((3,), 9)) == first


def test_under_bfloat16_every_parameter_has_a_gradient():
    model = model_of().float()
    module = TranslationModule(model, objective=MinimumRisk(num_samples=8, alpha=1.0))
    module.trainer, module.log = SimpleNamespace(global_step=0), lambda *_, **__: None
    with torch.autocast("cpu", torch.bfloat16):
        sums, _ = module.objective(module, batch())
    sums.objective.backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in model.parameters())
    assert model.decoder.output.weight.grad.any()
    assert model.decoder.context_gates.weight.grad.any()


def test_risk_falls_when_it_is_minimized():
    module, given = module_of(MinimumRisk(num_samples=20, alpha=1.0)), batch()
    risks = []
    module.log = lambda name, value, **_: risks.append(float(value)) if name == "train/risk" else None
    optimizer = torch.optim.Adam(module.parameters(), lr=0.03)
    torch.manual_seed(2)
    for _ in range(45):
        optimizer.zero_grad()
        module.objective(module, given)[0].objective.backward()
        optimizer.step()
    assert sum(risks[-5:]) < 0.6 * sum(risks[:5])  # 0.25 to 0.45 with other parameters


@pytest.mark.parametrize("values", [{"num_samples": 0}, {"alpha": 0.0}, {"cross_entropy_weight": -1.0}])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        MinimumRisk(**values)
