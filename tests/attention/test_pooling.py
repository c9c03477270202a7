import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seq2seq.attention import AdditiveScore, BilinearScore, DotScore, GaussianScore, ScaledDotScore
from seq2seq.attention.pooling import AttentionPooling, AveragePooling

SIZE = 4
FACTORIES = {
    "additive": lambda: AttentionPooling(AdditiveScore(SIZE, SIZE, hidden_size=3)),
    "dot": lambda: AttentionPooling(DotScore()),
    "scaled dot": lambda: AttentionPooling(ScaledDotScore()),
    "bilinear": lambda: AttentionPooling(BilinearScore(SIZE, SIZE)),
    "gaussian": lambda: AttentionPooling(GaussianScore(0.5, learnable=True)),
    "average": AveragePooling,
}
every_pooling = pytest.mark.parametrize("make_pooling", FACTORIES.values(), ids=FACTORIES.keys())


@st.composite
def batches(draw):
    torch.manual_seed(draw(st.integers(0, 2**16)))
    batch, num_queries, num_keys, value_size = (draw(st.integers(1, 5)) for _ in range(4))
    lengths = torch.randint(0, num_keys + 1, draw(st.sampled_from([(batch,), (batch, num_queries)])))
    queries, keys = torch.randn(batch, num_queries, SIZE), torch.randn(batch, num_keys, SIZE)
    return queries, keys, torch.randn(batch, num_keys, value_size), lengths


@every_pooling
@settings(max_examples=15, deadline=None)
@given(batches())
def test_weights_sum_to_one_and_context_is_their_mean_of_the_values(make_pooling, batch):
    queries, keys, values, lengths = batch
    context, weights = make_pooling()(queries, keys, values, lengths)
    has_key = (lengths > 0).float().view(len(lengths), -1).expand(weights.shape[:2])
    torch.testing.assert_close(weights.sum(-1), has_key)
    assert (weights >= 0).all()
    torch.testing.assert_close(context, torch.einsum("bqk,bkv->bqv", weights, values))


@every_pooling
@settings(max_examples=15, deadline=None)
@given(batches(), st.sampled_from([1.0, -7.0, 1e4]))
def test_content_of_padding_never_changes_context_or_weights(make_pooling, batch, rubbish):
    queries, keys, values, lengths = batch
    pooling = make_pooling()
    longest = lengths.view(len(lengths), -1).amax(1)
    padding = torch.arange(keys.shape[1]) >= longest[:, None]
    other_keys, other_values = keys.clone(), values.clone()
    other_keys[padding], other_values[padding] = rubbish, -rubbish
    context, weights = pooling(queries, keys, values, lengths)
    other_context, other_weights = pooling(queries, other_keys, other_values, lengths)
    assert torch.equal(other_context, context)
    assert torch.equal(other_weights, weights)


@every_pooling
def test_projected_keys_and_a_mask_give_the_same_result(make_pooling):
    pooling, lengths = make_pooling(), torch.tensor([1, 6])
    queries, keys, values = torch.randn(2, 3, SIZE), torch.randn(2, 6, SIZE), torch.randn(2, 6, 5)
    mask = (torch.arange(6) < lengths[:, None]).unsqueeze(1)
    by_steps = pooling(queries, keys, values, mask=mask, projected_keys=pooling.project_keys(keys))
    for result, expected in zip(by_steps, pooling(queries, keys, values, lengths), strict=True):
        assert torch.equal(result, expected)


@every_pooling
def test_gradients_are_right_with_padding_and_empty_queries(make_pooling):
    torch.manual_seed(0)
    pooling, lengths = make_pooling().double(), torch.tensor([[0, 3], [2, 1]])
    shapes = [(2, 2, SIZE), (2, 3, SIZE), (2, 3, 2)]
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert gradcheck(lambda *t: pooling(*t, lengths)[0], tensors)


@every_pooling
def test_nothing_of_a_call_stays_on_the_module(make_pooling):
    pooling = make_pooling()

    def tensors_kept():
        return {
            (name, attribute)
            for name, module in pooling.named_modules()
            for attribute, value in vars(module).items()
            if isinstance(value, torch.Tensor)
        }

    pooling(torch.randn(2, 3, SIZE), torch.randn(2, 6, SIZE), torch.randn(2, 6, 5))
    assert tensors_kept() == set()
    assert list(pooling.buffers()) == []


@every_pooling
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weighs_in_float32_and_pools_in_the_type_of_the_values(make_pooling, dtype):
    pooling = make_pooling().to(dtype)
    queries, keys = torch.randn(1, 2, SIZE).to(dtype), torch.randn(1, 3000, SIZE).to(dtype)
    context, weights = pooling(queries, keys, keys)
    assert (context.dtype, weights.dtype) == (dtype, torch.float32)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2), rtol=0, atol=1e-5)


def test_dropout_acts_on_the_context_and_leaves_the_weights_clean():
    torch.manual_seed(0)
    attention = AttentionPooling(DotScore(), dropout=0.5)
    queries, keys = torch.randn(1, 1, SIZE), torch.randn(1, 200, SIZE)
    dropped, weights = attention(queries, keys, torch.eye(200).unsqueeze(0))
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])
    torch.testing.assert_close(weights, torch.softmax(queries @ keys.mT, dim=-1))


@pytest.mark.parametrize(
    ("score", "query_size"), [(AdditiveScore(20, 2, hidden_size=8), 20), (ScaledDotScore(), 2)]
)
def test_equal_keys_average_the_valid_values(score, query_size):
    queries, keys = torch.randn(2, 1, query_size), torch.ones(2, 10, 2)
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    context, weights = AttentionPooling(score, dropout=0.5).eval()(
        queries, keys, values, torch.tensor([2, 6])
    )
    torch.testing.assert_close(context, torch.tensor([[[2.0, 3, 4, 5]], [[10.0, 11, 12, 13]]]))
    expected = torch.tensor([[[1 / 2] * 2 + [0] * 8], [[1 / 6] * 6 + [0] * 4]])
    torch.testing.assert_close(weights, expected)
