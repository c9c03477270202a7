import pytest
import torch

from seq2seq.model.layers import Dropout, keep_mask


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_elements_are_zero_with_probability_p_and_keep_their_mean(p):
    torch.manual_seed(0)
    mask = keep_mask(torch.ones(300, 1000), p)
    assert (mask == 0).float().mean().item() == pytest.approx(p, abs=0.005)
    assert mask.mean().item() == pytest.approx(1, rel=0.02)
    assert mask.unique().tolist() == [0, pytest.approx(1 / (1 - p), rel=1e-3)]


@pytest.mark.parametrize("shape", [(3, 5), (7,), (0, 4), (2, 3, 1)])
def test_the_mask_has_shape_and_type_of_the_inputs(shape):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        mask = keep_mask(torch.ones(shape, dtype=dtype), 0.5)
        assert mask.shape == shape
        assert mask.dtype == dtype


def test_neighbours_fall_independently():
    torch.manual_seed(0)
    kept = keep_mask(torch.ones(400_000), 0.5) > 0
    for distance in (1, 2, 3, 4):
        both = (kept[distance:] & kept[:-distance]).float().mean().item()
        assert both == pytest.approx(0.25, abs=0.005)


def test_the_same_generator_state_gives_the_same_mask():
    torch.manual_seed(3)
    first = keep_mask(torch.ones(50), 0.3)
    torch.manual_seed(3)
    assert torch.equal(keep_mask(torch.ones(50), 0.3), first)


def test_outside_training_and_with_p_zero_inputs_pass_unchanged():
    inputs = torch.randn(4)
    assert Dropout(0.5).eval()(inputs) is inputs
    assert Dropout(0.0)(inputs) is inputs


def test_the_gradient_goes_where_the_output_went():
    inputs = torch.ones(100, requires_grad=True)
    outputs = Dropout(0.4)(inputs)
    outputs.sum().backward()
    assert torch.equal(inputs.grad, outputs.detach())


def test_by_sentence_one_mask_is_drawn_for_all_tokens_of_each_and_others_by_element():
    torch.manual_seed(0)
    ones = torch.ones(3, 7, 40)
    shared = Dropout(0.5, by_sentence=True).of_sentences(ones[:, :1])
    assert shared.shape == (3, 1, 40)
    assert shared.unique().tolist() == [0, 2]
    assert not torch.equal(shared[0], shared[1])
    assert torch.equal(Dropout(0.5)(ones, shared), shared.expand_as(ones))
    assert Dropout(0.5).of_sentences(ones) is None
    assert Dropout(0.5, by_sentence=True).eval().of_sentences(ones) is None
    assert Dropout(0.5).eval()(ones, shared) is ones
