import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from seq2seq.attention.additive import CHUNK_ELEMENTS, additive_attention, additive_scores
from seq2seq.attention.pooling import Attention
from seq2seq.attention.scores import AdditiveScore


def projected(batch, num_queries, num_keys, size, dtype=torch.float64):
    shapes = [(batch, num_queries, size), (batch, num_keys, size), (size,)]
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def textbook(queries, keys, weight):
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ weight


class LargestTensor(TorchDispatchMode):
    """Notes the size of the largest tensor any operation makes."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, (list, tuple)) else [result]
        sizes = [tensor.numel() for tensor in made if isinstance(tensor, torch.Tensor)]
        self.elements = max([self.elements, *sizes])
        return result


def saved_shapes(function, *tensors):
    """Shape of every tensor that autograd keeps for the backward pass."""
    shapes = []

    def note(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        function(*tensors)
    return shapes


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.integers(1, 5)] * 4), st.integers(1, 200), st.integers(0, 2**16))
def test_every_chunk_size_gives_the_textbook_values_and_gradients(shape, chunk_elements, seed):
    torch.manual_seed(seed)
    tensors = projected(*shape)
    expected = textbook(*tensors)
    scores = additive_scores(*tensors, chunk_elements=chunk_elements)
    torch.testing.assert_close(scores, expected)
    direction = torch.randn_like(expected)
    torch.testing.assert_close(
        torch.autograd.grad(scores, tensors, direction),
        torch.autograd.grad(expected, tensors, direction),
    )


@pytest.mark.parametrize("chunk_elements", [1, 24, 60, 1000])
def test_gradients_are_right_in_one_chunk_and_in_many(chunk_elements):
    torch.manual_seed(0)
    tensors = projected(2, 5, 3, 4)
    assert gradcheck(lambda *t: additive_scores(*t, chunk_elements=chunk_elements), tensors)


@pytest.mark.parametrize("needing", [0, 1, 2])
def test_a_single_argument_may_need_a_gradient(needing):
    tensors = [tensor.detach() for tensor in projected(2, 5, 3, 4)]
    tensors[needing].requires_grad_()
    assert gradcheck(lambda *t: additive_scores(*t, chunk_elements=24), tensors)


def test_chunks_keep_nothing_but_the_arguments():
    tensors = projected(2, 6, 5, 4)
    shapes = saved_shapes(lambda *t: additive_scores(*t, chunk_elements=40), *tensors)
    assert shapes == [tuple(tensor.shape) for tensor in tensors]


def test_no_tensor_of_either_pass_exceeds_the_bound():
    tensors = projected(2, 60, 5, 16)
    bound = 2 * 5 * 16 * 7
    with LargestTensor() as largest:
        scores = additive_scores(*tensors, chunk_elements=bound)
        assert largest.elements == bound
        torch.autograd.backward(scores, torch.ones_like(scores))
    assert largest.elements == max(bound, tensors[0].numel())


def test_the_score_module_keeps_no_tensor_of_queries_times_keys_times_hidden():
    batch, num_queries, num_keys, hidden_size = 1, 130, 65, 512
    full = batch * num_queries * num_keys * hidden_size
    assert full > CHUNK_ELEMENTS
    score = AdditiveScore(3, 3, hidden_size=hidden_size)
    with LargestTensor() as largest:
        shapes = saved_shapes(score, torch.randn(1, num_queries, 3), torch.randn(1, num_keys, 3))
    assert max(map(math.prod, shapes)) <= num_queries * hidden_size
    assert largest.elements <= CHUNK_ELEMENTS


def test_a_single_query_keeps_its_tanh():
    """A decoder's step: computing the tanh twice would cost more than keeping it."""
    tensors = projected(2, 1, 5, 4)
    shapes = saved_shapes(lambda *t: additive_scores(*t, chunk_elements=1), *tensors)
    assert (2, 1, 5, 4) in shapes


def test_differentiating_twice_is_refused_not_wrong():
    tensors = projected(1, 3, 2, 2)
    scores = additive_scores(*tensors, chunk_elements=4)
    for loss in (scores.sum(), scores.square().sum()):
        with pytest.raises(RuntimeError, match="differentiated once only"):
            torch.autograd.grad(loss, tensors[0], create_graph=True)


def test_half_precision_gradients_do_not_stall_over_many_chunks():
    queries = torch.zeros(1, 1024, 2, dtype=torch.bfloat16)
    keys = torch.zeros(1, 1, 2, dtype=torch.bfloat16, requires_grad=True)
    weight = torch.tensor([1.0, 0.5], dtype=torch.bfloat16)
    additive_scores(queries, keys, weight, chunk_elements=2).sum().backward()
    assert keys.grad.tolist() == [[[1024.0, 512.0]]]


def test_under_autocast_both_paths_agree_in_values_types_and_gradients():
    torch.manual_seed(0)
    tensors = projected(2, 6, 5, 4, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        chunked = additive_scores(*tensors, chunk_elements=40)
        plain = additive_scores(*tensors)
    assert chunked.dtype == torch.bfloat16
    assert torch.equal(chunked, plain)
    gradients = torch.autograd.grad(chunked.float().sum(), tensors)
    assert [gradient.dtype for gradient in gradients] == [torch.float32] * 3
    expected = torch.autograd.grad(plain.float().sum(), tensors)
    torch.testing.assert_close(gradients, expected, rtol=0.02, atol=0.02)


def test_scores_of_mixed_types_under_autocast_are_those_of_the_module():
    torch.manual_seed(0)
    score = AdditiveScore(3, 3, hidden_size=4)
    queries, keys = torch.randn(2, 6, 3), torch.randn(2, 5, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        arguments = score.query_projection(queries), score.project_keys(keys), score.score_weight
        chunked = additive_scores(*arguments, chunk_elements=40)
        assert torch.equal(chunked, score(queries, keys))
    chunked.float().sum().backward()
    assert score.score_weight.grad.dtype == torch.float32


def attention_arguments(dtype=torch.float64):
    torch.manual_seed(0)
    shapes = [(2, 3, 2), (2, 4, 1), (2, 4, 2), (3, 2), (3, 1), (3,)]
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def test_the_operation_equals_the_module_with_the_same_weights():
    queries, keys, values, *weights = attention_arguments()
    attention = Attention(AdditiveScore(2, 1, hidden_size=3).double())
    with torch.no_grad():
        for parameter, weight in zip(
            (
                attention.score.query_projection.weight,
                attention.score.key_projection.weight,
                attention.score.score_weight,
            ),
            weights,
            strict=True,
        ):
            parameter.copy_(weight)
    lengths = torch.tensor([4, 2])
    torch.testing.assert_close(
        additive_attention(queries, keys, values, *weights, lengths),
        attention(queries, keys, values, lengths),
    )


def test_gradients_of_the_operation_are_right_with_empty_queries():
    lengths = torch.tensor([[4, 2, 0], [0, 3, 1]])
    assert gradcheck(lambda *t: additive_attention(*t, lengths), attention_arguments())


def test_gradients_of_the_operation_are_right_in_chunks(monkeypatch):
    in_chunks = partial(additive_scores, chunk_elements=24)
    monkeypatch.setattr("seq2seq.attention.additive.additive_scores", in_chunks)
    mask = torch.tensor([[[True, False, True, True]], [[False, True, True, False]]])
    assert gradcheck(lambda *t: additive_attention(*t, mask=mask), attention_arguments())


def test_the_operation_takes_lengths_or_mask():
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    with pytest.raises(ValueError, match="valid_lengths or mask"):
        additive_attention(*attention_arguments(), torch.tensor([1, 2]), mask=mask)
