import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seq2seq.attention.masking import masked_softmax

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
    assert weights.dtype == torch.promote_types(scores.dtype, torch.float32)
    precision, expected = torch.finfo(weights.dtype).eps, softmax_row_by_row(scores, lengths)
    torch.testing.assert_close(weights.double(), expected, rtol=4 * precision, atol=precision)
    assert not weights[expected == 0].any(), "padding"


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_keys_of_the_lowest_score_still_share_everything(dtype):
    scores = torch.full((1, 1, 4), torch.finfo(dtype).min, dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0.0, 0.0]]]


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


def test_gradients_are_right_with_padding_and_with_empty_queries():
    scores = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(masked_softmax, (scores, torch.tensor([[0, 1], [2, 3], [4, 4]])))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_half_precision_scores_sum_to_one_closely(dtype):
    weights = masked_softmax(torch.randn(1, 1, 3000).to(dtype))
    assert weights.dtype == torch.float32
    assert abs(weights.sum() - 1) < 1e-5


def test_weights_keep_double_precision():
    assert masked_softmax(torch.randn(1, 1, 2, dtype=torch.float64)).dtype == torch.float64
