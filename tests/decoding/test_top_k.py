import pytest
import torch

from seq2seq.decoding.stepper import place_of_top, top_k


@pytest.mark.parametrize("size", [5, 64, 448, 449, 1000])
def test_the_largest_logits_are_those_of_topk(size):
    logits = torch.randn(3, 2, size, generator=torch.Generator().manual_seed(size))
    logits[0, 0, -3:] = 50 + torch.arange(3)
    logits[1, :, :3] = -torch.inf
    for found, expected in zip(top_k(logits, 5), logits.topk(5), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("size", [5, 64, 127, 128, 129, 1000])
def test_the_place_of_the_largest_is_that_of_argmax_and_the_first_of_equals(size):
    numbers = torch.randint(0, 50, (300, 2, size), generator=torch.Generator().manual_seed(size))
    numbers = numbers.float()
    numbers[0] = -torch.inf
    assert torch.equal(place_of_top(numbers), numbers.argmax(dim=-1))
