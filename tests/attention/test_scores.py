import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seq2seq.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    DotScore,
    GaussianScore,
    MeanAttention,
    Memory,
    ScaledDotScore,
)

SIZE = 3
FACTORIES = {
    "additive": lambda: AdditiveScore(SIZE, SIZE, hidden_size=4),
    "dot": DotScore,
    "scaled dot": ScaledDotScore,
    "bilinear": lambda: BilinearScore(SIZE, SIZE),
    "gaussian": lambda: GaussianScore(inverse_width=0.7),
    "learnable gaussian": lambda: GaussianScore(inverse_width=0.7, learnable=True),
}
every_score = pytest.mark.parametrize("make_score", FACTORIES.values(), ids=FACTORIES.keys())


def formula(score, query, key):
    """The score of one query and one key, as the literature writes it."""
    match score:
        case AdditiveScore():
            hidden = score.query_projection.weight @ query + score.key_projection.weight @ key
            return score.score_weight @ hidden.tanh()
        case DotScore():
            return query @ key
        case ScaledDotScore():
            return query @ key / math.sqrt(len(query))
        case BilinearScore():
            return query @ score.key_projection.weight @ key
        case GaussianScore():
            return -(((query - key) * score.inverse_width) ** 2).sum() / 2


def pairwise(score, queries, keys):
    rows = [
        [[formula(score, query, key).item() for key in keys[b]] for query in queries[b]]
        for b in range(len(queries))
    ]
    return torch.tensor(rows, dtype=queries.dtype).view(*queries.shape[:2], keys.shape[1])


@every_score
@settings(max_examples=15, deadline=None)
@given(st.tuples(*[st.integers(1, 4)] * 3), st.integers(0, 2**16))
def test_every_score_is_its_formula_pair_by_pair(make_score, shape, seed):
    torch.manual_seed(seed)
    batch, num_queries, num_keys = shape
    score = make_score().double()
    queries = torch.randn(batch, num_queries, SIZE, dtype=torch.float64)
    keys = torch.randn(batch, num_keys, SIZE, dtype=torch.float64)
    torch.testing.assert_close(score(queries, keys), pairwise(score, queries, keys))


@every_score
def test_gradients_of_queries_keys_and_parameters_are_right(make_score):
    torch.manual_seed(0)
    score = make_score().double()
    queries = torch.randn(2, 3, SIZE, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(2, 4, SIZE, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in score.named_parameters()]

    def scores(queries, keys, *parameters):
        given_parameters = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(score, given_parameters, (queries, keys))

    assert gradcheck(scores, (queries, keys, *score.parameters()))


@every_score
def test_projected_keys_are_used_instead_of_the_keys(make_score):
    score = make_score()
    queries, keys, others = (torch.randn(2, 3, SIZE), torch.randn(2, 5, SIZE), torch.randn(2, 5, SIZE))
    assert torch.equal(score(queries, keys, score.project_keys(others)), score(queries, others))


@every_score
def test_half_precision_scores_are_close(make_score):
    torch.manual_seed(0)
    score = make_score().bfloat16()
    queries, keys = torch.randn(2, 3, SIZE).bfloat16(), torch.randn(2, 5, SIZE).bfloat16()
    halves = score(queries, keys).double()
    score, queries, keys = score.double(), queries.double(), keys.double()
    torch.testing.assert_close(halves, score(queries, keys), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("score", [DotScore(), ScaledDotScore(), GaussianScore()])
def test_scores_that_need_equal_sizes_say_so_and_name_both(score):
    assert score.needs_equal_sizes
    with pytest.raises(ValueError, match="not 3 and 5"):
        score(torch.randn(1, 2, 3), torch.randn(1, 2, 5))


@pytest.mark.parametrize("score", [AdditiveScore(3, 5, hidden_size=4), BilinearScore(3, 5)])
def test_scores_with_weights_take_queries_and_keys_of_different_sizes(score):
    assert not score.needs_equal_sizes
    assert score(torch.randn(1, 2, 3), torch.randn(1, 7, 5)).shape == (1, 2, 7)


def test_scaled_dot_stays_within_float16_where_the_product_does_not():
    queries = keys = torch.full((1, 1, 64), 40.0, dtype=torch.float16)
    assert DotScore()(queries, keys).isinf().all()
    assert ScaledDotScore()(queries, keys).item() == 40.0 * 40.0 * 8


def test_gaussian_is_zero_where_query_and_key_meet_and_gradients_are_right_there():
    keys = torch.randn(1, 4, SIZE, dtype=torch.float64)
    queries = keys[:, :2].clone().requires_grad_()
    scores = GaussianScore()(queries, keys)
    torch.testing.assert_close(scores[0].diagonal(), torch.zeros(2, dtype=torch.float64))
    assert gradcheck(GaussianScore(), (queries, keys.requires_grad_()))


@pytest.mark.parametrize("num_queries", [1, 5])
def test_gaussian_is_exact_in_float32_far_from_the_origin(num_queries):
    torch.manual_seed(0)
    queries = 1000 + torch.randn(2, num_queries, 8)
    keys = 1000 + torch.randn(2, 6, 8)
    expected = -0.5 * torch.cdist(queries.double(), keys.double()) ** 2
    torch.testing.assert_close(GaussianScore()(queries, keys).double(), expected, rtol=1e-5, atol=1e-5)


def test_gaussian_is_as_exact_under_autocast():
    queries, keys = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under_autocast = GaussianScore()(queries, keys)
    assert torch.equal(under_autocast, GaussianScore()(queries, keys))


@pytest.mark.parametrize("score", [DotScore(), ScaledDotScore(), GaussianScore()])
def test_products_keep_no_vector_per_pair(score):
    queries, keys = torch.randn(2, 7, 50, requires_grad=True), torch.randn(2, 9, 50)
    sizes = []

    def note(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        score(queries, keys)
    assert max(sizes) <= keys.numel()


@pytest.mark.parametrize("size", [4, 64, 256])
@pytest.mark.parametrize(("score", "grows"), [(DotScore(), True), (ScaledDotScore(), False)])
def test_variance_of_scores_is_d_for_dot_and_one_for_scaled_dot(score, grows, size):
    torch.manual_seed(1)
    queries, keys = torch.randn(100, 20, size), torch.randn(100, 20, size)
    expected = size if grows else 1
    assert score(queries, keys).var().item() == pytest.approx(expected, rel=0.1)


class BothKeys(AdditiveScore):
    """A score of which a decoder cannot compute the second term, because it stores projected keys only."""

    def forward(self, queries, keys, projected_keys=None):
        return super().forward(queries, keys, projected_keys) + keys.sum(dim=-1).unsqueeze(1)


class ProjectedKeys(AdditiveScore):
    pass


def test_an_own_score_that_uses_keys_beside_projected_keys_is_refused():
    Attention(SIZE, 5, score=ProjectedKeys)
    with torch.device("meta"):  # as model folders are loaded
        Attention(SIZE, 5, score=ProjectedKeys)
    with pytest.raises(ValueError, match="BothKeys must not use `keys` if `projected_keys` is given"):
        Attention(SIZE, 5, score=BothKeys)


def test_the_additive_score_of_half_precision_is_summed_in_float32():
    torch.manual_seed(0)
    score, queries, keys = AdditiveScore(4, 6, 64), torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        scores = score(queries, keys)
        hidden = torch.tanh(score.query_projection(queries)[:, :, None] + score.key_projection(keys)[:, None])
    assert hidden.dtype == torch.bfloat16
    exact = (hidden.double() * score.score_weight.detach().double()).sum(dim=-1)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores.double(), exact, rtol=1e-5, atol=1e-6)


def test_the_mean_of_the_states_is_over_real_tokens():
    states, is_token = torch.randn(1, 3, 6), torch.tensor([[True, True, False]])
    attention = MeanAttention(query_size=4, memory_size=6)
    memory = Memory(states, attention.project_keys(states), is_token, states[:, 0])
    context, weights, _ = attention(torch.randn(2, 4), memory, ())
    torch.testing.assert_close(context, states[:, :2].mean(dim=1).expand(2, 6))
    assert weights[:, 0].tolist() == [[0.5, 0.5, 0.0]] * 2
