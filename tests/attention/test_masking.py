import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seq2seq.attention.masking import attention_weights, length_mask, masked_softmax

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@st.composite
def scores_and_lengths(draw):
    batch, num_queries, num_keys = (draw(st.integers(1, 5)) for _ in range(3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    scale = draw(st.sampled_from([0.1, 1.0, 30.0]))
    scores = scale * torch.randn(batch, num_queries, num_keys, generator=generator)
    shape = draw(st.sampled_from([(batch,), (batch, num_queries)]))
    lengths = torch.randint(0, num_keys + 1, shape, generator=generator)
    return scores.to(draw(st.sampled_from(DTYPES))), lengths


def softmax_row_by_row(scores, lengths):
    expected = torch.zeros_like(scores, dtype=torch.float64)
    per_query = lengths.view(len(lengths), -1).expand(scores.shape[:2])
    for b, q in torch.cartesian_prod(*map(torch.arange, scores.shape[:2])).tolist():
        length = per_query[b, q]
        expected[b, q, :length] = scores[b, q, :length].double().softmax(dim=0)
    return expected


@settings(max_examples=60, deadline=None)
@given(scores_and_lengths())
def test_weights_are_the_softmax_of_the_first_keys_in_every_dtype(case):
    scores, lengths = case
    weights = masked_softmax(scores, lengths)
    assert weights.dtype == scores.dtype
    precision = torch.finfo(scores.dtype).eps
    torch.testing.assert_close(
        weights.double(), softmax_row_by_row(scores, lengths), rtol=4 * precision, atol=precision
    )


@settings(max_examples=60, deadline=None)
@given(scores_and_lengths())
def test_padding_weighs_exactly_nothing_and_real_keys_sum_to_one(case):
    scores, lengths = case
    weights = masked_softmax(scores, lengths)
    lengths = lengths.view(len(lengths), -1).expand(weights.shape[:2])
    real = torch.arange(scores.shape[-1]) < lengths[..., None]
    assert (weights[~real] == 0).all()
    tolerance = 8 * torch.finfo(scores.dtype).eps
    torch.testing.assert_close(weights.double().sum(-1), (lengths > 0).double(), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_keys_of_the_lowest_score_still_share_everything(dtype):
    scores = torch.full((1, 1, 4), torch.finfo(dtype).min, dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0.0, 0.0]]]


def test_without_lengths_every_key_is_real():
    scores = torch.randn(2, 3, 4)
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(-1))


def test_lengths_per_query_apply_to_their_own_query():
    weights = masked_softmax(torch.zeros(2, 2, 4), torch.tensor([[1, 2], [4, 0]]))
    expected = [[[1, 0, 0, 0], [0.5, 0.5, 0, 0]], [[0.25] * 4, [0] * 4]]
    torch.testing.assert_close(weights, torch.tensor(expected))


def test_lengths_and_the_mask_they_stand_for_agree():
    scores, lengths = torch.randn(3, 2, 5), torch.tensor([0, 2, 5])
    mask = length_mask(lengths, 5).unsqueeze(1)
    assert torch.equal(masked_softmax(scores, lengths), masked_softmax(scores, mask=mask))


@pytest.mark.parametrize("shape", [(5,), (2, 5), (3, 1, 5), (1, 2, 5), (3, 2, 1), (3, 2, 5)])
def test_a_mask_broadcasts_and_may_have_holes(shape):
    torch.manual_seed(0)
    scores, mask = torch.randn(3, 2, 5), torch.rand(shape) < 0.5
    exponentials = scores.exp() * mask
    expected = exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-30)
    torch.testing.assert_close(masked_softmax(scores, mask=mask), expected)


def test_a_mask_larger_than_the_scores_is_refused():
    with pytest.raises(RuntimeError, match="expand"):
        masked_softmax(torch.zeros(1, 2, 3), mask=torch.ones(4, 1, 3, dtype=torch.bool))


def test_lengths_and_mask_together_are_refused():
    with pytest.raises(ValueError, match="valid_lengths or mask"):
        masked_softmax(torch.zeros(1, 1, 2), torch.tensor([1]), mask=torch.ones(1, 1, 2, dtype=torch.bool))


def test_scores_are_not_written_to():
    scores = torch.randn(2, 3, 4)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([0, 2]))
    assert torch.equal(scores, before)


@pytest.mark.parametrize("rubbish", [torch.nan, torch.inf, -torch.inf])
def test_scores_of_padding_influence_neither_weights_nor_gradients(rubbish):
    lengths = torch.tensor([0, 2])
    clean = torch.randn(2, 1, 3, requires_grad=True)
    spoilt = clean.detach().clone()
    spoilt[0], spoilt[1, :, 2:] = rubbish, rubbish
    spoilt.requires_grad_()
    target = torch.randn(2, 1, 3)
    for scores in (clean, spoilt):
        (masked_softmax(scores, lengths) * target).sum().backward()
    assert torch.equal(masked_softmax(spoilt, lengths), masked_softmax(clean, lengths))
    assert torch.equal(spoilt.grad, clean.grad)


@pytest.fixture
def nan_in_any_backward_step_is_an_error():
    torch.autograd.set_detect_anomaly(True)
    yield
    torch.autograd.set_detect_anomaly(False)


@pytest.mark.usefixtures("nan_in_any_backward_step_is_an_error")
def test_a_query_without_keys_gets_zeros_and_passes_zero_gradient():
    scores = torch.randn(2, 2, 3, requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[0, 3], [2, 0]]))
    (weights * torch.randn(2, 2, 3)).sum().backward()
    empty = torch.tensor([[True, False], [False, True]])
    assert (weights[empty] == 0).all()
    assert (scores.grad[empty] == 0).all()
    assert (scores.grad[~empty] != 0).any()


def test_gradients_are_right_with_padding_and_with_empty_queries():
    scores = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(masked_softmax, (scores, torch.tensor([[0, 1], [2, 3], [4, 4]])))


def test_length_mask_is_true_on_the_first_keys():
    mask = length_mask(torch.tensor([[0, 1], [3, 2]]), 3)
    expected = [[[0, 0, 0], [1, 0, 0]], [[1, 1, 1], [1, 1, 0]]]
    assert torch.equal(mask, torch.tensor(expected, dtype=torch.bool))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_weights_of_half_precision_scores_sum_to_one_closely(dtype):
    weights = attention_weights(torch.randn(1, 1, 3000).to(dtype))
    assert weights.dtype == torch.float32
    assert abs(weights.sum() - 1) < 1e-5


def test_attention_weights_keep_double_precision():
    assert attention_weights(torch.randn(1, 1, 2, dtype=torch.float64)).dtype == torch.float64
