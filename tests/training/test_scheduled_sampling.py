"""Scheduled sampling: its two limits, its schedule, and the loss of a fixed draw by a plain loop."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cross_entropy

from seq2seq.data.vocabulary import BEGIN_ID, PADDING_ID
from seq2seq.training import ScheduledSampling, TranslationModule
from tests.small import model_of
from tests.training.test_minimum_risk import batch

DECODERS = [{}, {"decoder": "luong"}, {"decoder": "plain"}, {"score": "coverage", "num_layers": 2}]


def module_of(objective, step=0, **options):
    module = TranslationModule(model_of(**options), objective=objective)
    module.trainer = SimpleNamespace(global_step=step)
    return module


@pytest.mark.parametrize("options", DECODERS)
def test_with_probability_0_it_is_teacher_forcing(options):
    module, given = module_of(ScheduledSampling(probability=0.0), **options), batch()
    sums, weights = module.objective(module, given)
    features, expected_weights = module(given)
    expected = module.cross_entropy(given, features)
    torch.testing.assert_close(sums.objective, expected.objective)
    assert sums.num_tokens == expected.num_tokens
    if weights is not None:
        is_token = given.target_is_token
        torch.testing.assert_close(weights[is_token], expected_weights[is_token])
    parameters = list(module.parameters())
    gradients = [
        torch.autograd.grad(each.objective, parameters, allow_unused=True) for each in (sums, expected)
    ]
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("options", DECODERS)
def test_with_probability_1_it_reads_only_what_it_says_itself(options):
    """Where one token has all probability, what is read after <bos> is this token."""
    module, given = module_of(ScheduledSampling(probability=1.0), **options), batch()
    with torch.no_grad():
        module.model.decoder.output.bias[6] += 1000
    sums, _ = module.objective(module, given)
    read = torch.full_like(given.target_input, 6)
    read[:, 0] = BEGIN_ID
    features, _ = module.model(replace(given, target_input=read))
    expected = module.cross_entropy(given, features)
    torch.testing.assert_close(sums.objective, expected.objective)


@pytest.mark.parametrize("options", DECODERS)
def test_loss_and_gradient_of_a_fixed_draw_are_those_of_a_plain_loop(options):
    module, given = module_of(ScheduledSampling(probability=0.5), **options), batch()
    model = module.model
    torch.manual_seed(4)
    sums, _ = module.objective(module, given)

    torch.manual_seed(4)  # first which tokens are the decoder's own, then a number for each, step by step
    coins = torch.rand(given.target_input.shape)
    memory = model.encode(given.source)
    state, logits, num_own = model.decoder.initial_state(memory), None, 0
    expected = 0
    for step in range(given.target_input.shape[1]):
        tokens = given.target_input[:, step].clone()
        own = [
            row for row in range(3)
            if step and step < given.target_lengths[row] and coins[row, step] < 0.5
        ]  # fmt: skip
        for row, number in zip(own, torch.rand(len(own)) if own else (), strict=True):
            shares = logits[row].detach().softmax(-1)
            shares[[PADDING_ID, BEGIN_ID]] = 0
            shares /= shares.sum()
            tokens[row] = int((shares.cumsum(0) <= number).sum())
            num_own += 1
        features, state, _ = model.decoder.step(tokens, state, memory)
        logits = model.decoder.output(features)
        inside = given.target_lengths > step
        expected = expected + cross_entropy(
            logits[inside], given.target_output[inside, step], reduction="sum"
        )
    assert num_own > 2
    torch.testing.assert_close(sums.objective, expected)
    parameters = list(module.parameters())
    gradients = [
        torch.autograd.grad(each, parameters, allow_unused=True) for each in (sums.objective, expected)
    ]
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two)


def test_the_probability_grows_by_the_step():
    given = batch()
    for step, expected in ((0, 0.0), (50, 0.25), (100, 0.5), (1000, 0.5)):
        module = module_of(ScheduledSampling(probability=0.5, ramp_steps=100), step=step)
        torch.manual_seed(4)
        found, _ = module.objective(module, given)
        torch.manual_seed(4)
        constant = ScheduledSampling(probability=expected)
        torch.testing.assert_close(found.objective, constant(module, given)[0].objective)


@pytest.mark.parametrize("values", [{"probability": 1.5}, {"probability": -0.1}, {"ramp_steps": -1}])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        ScheduledSampling(**values)
