"""Laws of the attentions that are more than a score; what they compute is in tests/oracles."""

import itertools

import pytest
import torch
from torch.autograd import gradcheck

from seq2seq.attention.masking import masked_softmax
from seq2seq.model.attentions.composed import Past
from seq2seq.model.attentions.monotonic import MonotonicWeighing, expected_weights
from seq2seq.model.attentions.windows import WindowWeighing
from seq2seq.model.build import build_seq2seq
from seq2seq.model.fused.choice import for_search
from seq2seq.model.fused.search import FusedSearch, PlainSearch
from seq2seq.text.batch import SourceBatch
from seq2seq.training.loss import token_cross_entropy
from tests.models import model_of, spec_of

COMPOSED = {
    "average": {"score": "average"},
    "sparsemax": {"attention_normaliser": "sparsemax"},
    "coverage": {"attention_coverage": True},
    "local_m": {"attention_kind": "local_m", "attention_window": 2},
    "local_p": {"attention_kind": "local_p", "attention_window": 2},
    "monotonic": {"attention_kind": "monotonic"},
    "heads": {"attention_heads": 2},
}
SENTENCES = [[4, 5, 6, 7], [], [8, 9]]


def tokens_and_memory(model):
    source = SourceBatch.from_sentences(SENTENCES)
    return torch.tensor([4, 5, 6]), model.encode(source.ids, source.lengths, source.is_token)


def past_of(step, latest, total=None):
    nothing = torch.zeros_like(latest)
    steps = torch.full(latest.shape[:2], float(step), dtype=latest.dtype)
    return Past(steps, latest, nothing if total is None else total)


@pytest.mark.parametrize("name", COMPOSED)
@torch.no_grad()
def test_only_the_plain_attention_goes_the_fused_way(name):
    plain, other = model_of(), model_of(**COMPOSED[name])
    assert type(for_search(plain.decoder, tokens_and_memory(plain)[1])) is FusedSearch
    assert type(for_search(other.decoder, tokens_and_memory(other)[1])) is PlainSearch


@pytest.mark.parametrize("name", COMPOSED)
def test_training_of_twenty_steps_lowers_the_loss_and_moves_every_parameter(name):
    torch.manual_seed(1)
    model = build_seq2seq(spec_of(**COMPOSED[name]))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    source = SourceBatch.from_sentences(SENTENCES)
    targets = torch.tensor([[4, 5, 3], [3, 1, 1], [8, 3, 1]])
    lengths, is_token = torch.tensor([3, 1, 2]), targets != 1
    before = [parameter.detach().clone() for parameter in model.parameters()]
    losses = []
    for _ in range(20):
        result = model(source.ids, source.lengths, source.is_token, targets.roll(1, 1), lengths)
        sums = token_cross_entropy(
            result.features, model.decoder.output, targets, is_token, label_smoothing=0.0
        )
        optimiser.zero_grad()
        sums.smoothed.backward()
        optimiser.step()
        losses.append(float(sums.nll.detach()))
    assert losses[-1] < 0.6 * losses[0]
    for first, (place, parameter) in zip(before, model.named_parameters(), strict=True):
        assert parameter.isfinite().all(), place
        assert not torch.equal(parameter, first), place


def walks(chosen, start):
    """Where Raffel's walk over the tokens stops, with its probability: token by token."""
    for stops in itertools.product([True, False], repeat=len(chosen)):
        probability = 1.0
        for probability_of_stop, stop in zip(chosen, stops, strict=True):
            probability *= probability_of_stop if stop else 1 - probability_of_stop
        yield next((j for j in range(start, len(chosen)) if stops[j]), None), probability


def test_expected_weights_are_the_sum_over_all_walks():
    torch.manual_seed(0)
    energies = 2 * torch.randn(3, 1, 1, 5, dtype=torch.float64)
    is_token = torch.ones(1, 1, 5, dtype=torch.bool)
    latest = torch.eye(5, dtype=torch.float64)[:1].view(1, 1, 5)
    reached = {0: 1.0}
    for energy in energies:
        latest, now = expected_weights(energy, latest, is_token), dict.fromkeys(range(5), 0.0)
        for start, probability in reached.items():
            for end, share in walks(energy.flatten().sigmoid().tolist(), start):
                if end is not None:
                    now[end] += probability * share
        reached = now
        torch.testing.assert_close(
            latest.flatten().tolist(), list(now.values()), rtol=0, atol=1e-14
        )


def test_the_gradient_of_expected_weights_is_right():
    torch.manual_seed(0)
    energies = torch.randn(2, 1, 4, dtype=torch.float64, requires_grad=True)
    latest = torch.rand(2, 1, 4, dtype=torch.float64, requires_grad=True)
    is_token = torch.tensor([[[True] * 4], [[True, True, False, False]]])
    assert gradcheck(lambda e, w: expected_weights(e, w, is_token), (energies, latest))


@pytest.mark.parametrize("size", [30.0, 1e4])
def test_decided_scores_are_expected_to_be_what_a_search_decides(size, monkeypatch):
    """Products of 400 zeros and ones in float32: no overflow, no NaN in the gradient."""
    monkeypatch.setattr("seq2seq.model.attentions.monotonic.NOISE", 0.0)
    torch.manual_seed(0)
    weighing = MonotonicWeighing()
    scores = size * (torch.randint(0, 8, (2, 1, 400)) == 0).float() * 2 - size
    scores.requires_grad_()
    latest = torch.eye(400)[[3, 70]].unsqueeze(1)
    is_token = torch.arange(400) < torch.tensor([[[400]], [[90]]])
    queries = torch.zeros(2, 1, 1)
    weights = weighing(scores, queries, is_token, past_of(1, latest))
    decided = weighing.eval()(scores, queries, is_token, past_of(1, latest))
    torch.testing.assert_close(weights, decided)
    assert decided.sum(-1).tolist() == [[1.0], [1.0]]
    (weights * torch.arange(400)).sum().backward()
    assert scores.grad.isfinite().all()


def test_a_walk_that_has_left_the_source_stays_away():
    weighing = MonotonicWeighing().eval()
    is_token = torch.tensor([[[True, True, False]]])
    scores, queries = torch.tensor([[[5.0, -5.0, 5.0]]]), torch.zeros(1, 1, 1)
    start = torch.tensor([[[0.0, 1.0, 0.0]]])
    left = weighing(scores, queries, is_token, past_of(1, start))
    assert not left.any()
    assert not weighing(scores.abs(), queries, is_token, past_of(2, left)).any()


@pytest.mark.parametrize(("step", "expected"), [(0, [0, 1]), (2, [1, 2, 3]), (9, [2, 3])])
def test_the_moving_window_stays_at_the_end_of_each_sentence(step, expected):
    weighing = WindowWeighing(masked_softmax, 1, None)
    is_token = torch.tensor([[[True, True, True, True, False, False]]])
    scores = torch.zeros(1, 1, 6)
    weights = weighing(scores, torch.zeros(1, 1, 1), is_token, past_of(step, scores))
    assert weights.nonzero()[:, 2].tolist() == expected
