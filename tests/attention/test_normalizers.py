"""Sparsemax, as Martins and Astudillo 2016 define it."""

import pytest
import torch

from seq2seq.attention.attention import NORMALIZERS
from seq2seq.attention.masking import masked_softmax
from seq2seq.attention.other_scores import DotScore
from seq2seq.attention.pooling import AttentionPooling
from seq2seq.attention.sparsemax import sparsemax

MASK = torch.tensor([[True, True, False, True, True], [False, True, True, False, False]])


def scores_of(seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("scale", [0.01, 0.5, 3.0])
def test_no_other_weights_are_nearer_to_the_scores(scale):
    """The optimum of a projection p: (s - p) · (q - p) <= 0 for every corner q."""
    scores = scores_of(0, scale)
    weights = sparsemax(scores)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, dtype=torch.float64))
    assert (weights >= 0).all()
    rest = scores - weights
    assert (rest - (rest * weights).sum(-1, keepdim=True) <= 1e-12).all()


def test_scores_that_are_one_apart_leave_the_smaller_one_nothing():
    scores = torch.tensor([[[0.0, 1.0], [0.0, 0.5], [2.0, 2.0]]])
    expected = torch.tensor([[[0.0, 1.0], [0.25, 0.75], [0.5, 0.5]]])
    torch.testing.assert_close(sparsemax(scores), expected)


def test_the_gradient_is_right_and_stays_among_the_weights_there_are():
    scores = scores_of(1).requires_grad_()
    mask = MASK.unsqueeze(1)
    assert torch.autograd.gradcheck(lambda s: sparsemax(s, mask=mask), scores)
    weights = sparsemax(scores, mask=mask)
    (weights * scores_of(2)).sum().backward()
    assert (weights == 0).any()
    assert not scores.grad[weights == 0].any()


@pytest.mark.parametrize("normalizer", NORMALIZERS.values(), ids=list(NORMALIZERS))
def test_keys_that_are_not_real_have_no_influence_whatever_they_hold(normalizer):
    mask = torch.cat([MASK, torch.zeros(1, 5, dtype=torch.bool)]).unsqueeze(1)
    scores = torch.cat([scores_of(3), scores_of(4)[:1]])
    filled = scores.masked_fill(~mask, torch.nan).requires_grad_()
    weights = normalizer(filled, mask=mask)
    for row, (own, real) in enumerate(zip(scores, mask[:2, 0], strict=False)):
        torch.testing.assert_close(weights[row][:, real], normalizer(own[None, :, real])[0])
    assert not weights.masked_select(~mask).any()
    assert not weights[2].any()
    (weights * weights).sum().backward()
    assert filled.grad.isfinite().all()


def test_large_scores_of_one_size_are_told_apart():
    scores = (1e5 + 0.1 * torch.arange(64).view(1, 1, 64)).float()
    exact = sparsemax(scores.double())
    torch.testing.assert_close(sparsemax(scores).double(), exact, rtol=0, atol=1e-6)


def test_lengths_and_short_formats_are_those_of_the_softmax():
    scores = scores_of(5)
    lengths = torch.tensor([2, 4])
    expected = sparsemax(scores, mask=torch.arange(5) < lengths.view(2, 1, 1))
    torch.testing.assert_close(sparsemax(scores, lengths), expected)
    assert sparsemax(scores.half()).dtype == torch.float32


def test_attention_takes_another_normalizer():
    queries, keys = scores_of(6), scores_of(7)
    context, weights = AttentionPooling(DotScore(), normalizer=sparsemax)(queries, keys, keys)
    torch.testing.assert_close(weights, sparsemax(queries @ keys.mT))
    torch.testing.assert_close(context, weights @ keys)
    _, others = AttentionPooling(DotScore())(queries, keys, keys)
    torch.testing.assert_close(others, masked_softmax(queries @ keys.mT))
