"""What the other tests rely on: shapes are checked while they run."""

import pytest
import torch
from jaxtyping import TypeCheckError

from seq2seq.attention.masking import length_mask
from tests.checks import FIRST, ONE_IN


def test_a_wrong_shape_is_refused_by_the_first_calls_and_by_some_later_ones():
    right, wrong = torch.tensor([1, 2]), torch.tensor([0.5])
    for _ in range(FIRST - 1):
        length_mask(right, 3)
    with pytest.raises(TypeCheckError):
        length_mask(wrong, 3)
    for _ in range(ONE_IN - FIRST - 1):
        length_mask(wrong, 3)
    with pytest.raises(TypeCheckError):
        length_mask(wrong, 3)
