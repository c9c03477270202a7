import pytest
import torch

from seq2seq.model.dropout import Dropout, keep_mask
from seq2seq.model.unroll.steps import Steps


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


def test_by_sentence_all_tokens_of_a_sentence_lose_the_same_elements():
    torch.manual_seed(0)
    dropout, lengths = Dropout(0.5, by_sentence=True), torch.tensor([3, 7, 5])
    steps, ones = Steps(lengths, 7), torch.ones(3, 7, 40)
    packed = steps.unpack(dropout(steps.pack(ones), steps))
    for padded in (packed, dropout(ones, time=1), dropout(ones.transpose(0, 1), time=0)):
        sentences = padded if padded.shape[0] == 3 else padded.transpose(0, 1)
        for sentence, length in zip(sentences, lengths.tolist(), strict=True):
            assert torch.equal(sentence[:length], sentence[:1].expand(length, -1))
        masks = sentences[:, 0]
        assert masks.unique().tolist() == [0, 2]
        assert not torch.equal(masks[0], masks[1])
        assert not torch.equal(masks[1], masks[2])


def test_without_a_time_every_row_is_a_sentence_of_its_own():
    torch.manual_seed(0)
    rows = Dropout(0.5, by_sentence=True)(torch.ones(2, 100))
    assert not torch.equal(rows[0], rows[1])
