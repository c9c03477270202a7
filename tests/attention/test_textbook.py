"""Worked examples with known results, from shapes to numbers."""

import pytest
import torch
from torch import nn

from seq2seq.attention import AdditiveScore, DotScore, GaussianScore, ScaledDotScore
from seq2seq.attention.masking import masked_softmax
from seq2seq.attention.pooling import AttentionPooling


@pytest.mark.parametrize(
    ("lengths", "per_query"), [([2, 3], [[2, 2], [3, 3]]), ([[1, 3], [2, 4]], [[1, 3], [2, 4]])]
)
def test_masked_softmax_spreads_one_over_the_valid_keys(lengths, per_query):
    torch.manual_seed(0)
    scores = torch.rand(2, 2, 4)
    weights = masked_softmax(scores, torch.tensor(lengths))
    for b in range(2):
        for q in range(2):
            valid = per_query[b][q]
            torch.testing.assert_close(weights[b, q, :valid], scores[b, q, :valid].softmax(0))
            assert (weights[b, q, :valid] > 0).all()
            assert (weights[b, q, valid:] == 0).all()


def test_additive_scores_step_by_step():
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 2, 20), torch.ones(2, 10, 2)
    score = AdditiveScore(query_size=20, key_size=2, hidden_size=16)
    projected_queries, projected_keys = score.query_projection(queries), score.project_keys(keys)
    assert projected_queries.shape == (2, 2, 16)
    assert projected_keys.shape == (2, 10, 16)
    features = projected_queries.unsqueeze(2) + projected_keys.unsqueeze(1)
    assert features.shape == (2, 2, 10, 16)
    scores = torch.tanh(features) @ score.score_weight
    assert scores.shape == (2, 2, 10)
    torch.testing.assert_close(score(queries, keys), scores)


@pytest.mark.parametrize(
    ("lengths", "row"), [(None, [0.1] * 10), (torch.tensor([2, 2]), [0.5] * 2 + [0.0] * 8)]
)
def test_additive_attention_over_equal_keys_is_uniform(lengths, row):
    queries, keys = torch.randn(2, 2, 20), torch.ones(2, 10, 2)
    attention = AttentionPooling(AdditiveScore(20, 2, hidden_size=16))
    _, weights = attention(queries, keys, keys, lengths)
    torch.testing.assert_close(weights, torch.tensor(row).expand(2, 2, 10))


@pytest.mark.parametrize(
    ("score", "query_size"), [(AdditiveScore(20, 2, hidden_size=8), 20), (ScaledDotScore(), 2)]
)
def test_equal_keys_average_the_valid_values(score: nn.Module, query_size: int):
    queries, keys = torch.randn(2, 1, query_size), torch.ones(2, 10, 2)
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    context, weights = AttentionPooling(score, dropout=0.5).eval()(
        queries, keys, values, torch.tensor([2, 6])
    )
    torch.testing.assert_close(context, torch.tensor([[[2.0, 3, 4, 5]], [[10.0, 11, 12, 13]]]))
    expected = torch.tensor([[[1 / 2] * 2 + [0] * 8], [[1 / 6] * 6 + [0] * 4]])
    torch.testing.assert_close(weights, expected)


def test_scores_and_contexts_are_products_batch_by_batch():
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 5)
    assert torch.bmm(queries, keys.mT).shape == (2, 3, 6)
    torch.testing.assert_close(DotScore()(queries, keys), torch.bmm(queries, keys.mT))
    context, weights = AttentionPooling(DotScore())(queries, keys, values)
    assert context.shape == (2, 3, 5)
    for b in range(2):
        torch.testing.assert_close(context[b], weights[b] @ values[b])


@pytest.mark.parametrize("size", [4, 64, 256])
@pytest.mark.parametrize(("score", "grows"), [(DotScore(), True), (ScaledDotScore(), False)])
def test_variance_of_scores_is_d_for_dot_and_one_for_scaled_dot(score, grows, size):
    torch.manual_seed(1)
    queries, keys = torch.randn(100, 20, size), torch.randn(100, 20, size)
    expected = size if grows else 1
    assert score(queries, keys).var().item() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("inverse_width", [0.5, 1.0, 4.0])
def test_gaussian_pooling_is_the_nadaraya_watson_estimator(inverse_width):
    torch.manual_seed(0)
    inputs, _ = (5 * torch.rand(50)).sort()
    outputs = 2 * inputs.sin() + inputs**0.8
    points = torch.arange(0, 5, 0.25)
    kernel = torch.exp(-(((points[:, None] - inputs) * inverse_width) ** 2) / 2)
    estimate = (kernel * outputs).sum(1) / kernel.sum(1)

    context, _ = AttentionPooling(GaussianScore(inverse_width=inverse_width))(
        points.view(1, -1, 1), inputs.view(1, -1, 1), outputs.view(1, -1, 1)
    )

    torch.testing.assert_close(context.flatten(), estimate, rtol=1e-4, atol=1e-4)
