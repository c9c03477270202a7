import pytest
import torch

from seq2seq.decoding.lengths import LengthBounds, LengthPenalty


def test_penalties_divide_by_their_formulas():
    scores, lengths = torch.tensor([-6.0, -6.0]), torch.tensor([1, 7])
    assert LengthPenalty("none").apply(scores, lengths).tolist() == [-6, -6]
    assert LengthPenalty("average").apply(scores, lengths).tolist() == pytest.approx([-6, -6 / 7])
    gnmt = LengthPenalty("gnmt", 0.5).apply(scores, lengths).tolist()
    assert gnmt == pytest.approx([-6, -6 / 2**0.5])
    assert LengthPenalty("gnmt", 0.0).apply(scores, lengths).tolist() == [-6, -6]


@pytest.mark.parametrize(
    ("values", "message"), [(("gmnt",), "choose none, average, gnmt"), (("gnmt", -1.0), "at least")]
)
def test_penalties_that_do_not_exist_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        LengthPenalty(*values)


def test_bounds_are_relative_to_the_source_and_the_least_is_never_above_the_greatest():
    lengths = torch.tensor([1, 4, 9])
    bounds = LengthBounds(min_factor=0.5, max_factor=1.5, max_extra=2)
    assert bounds.least(lengths).tolist() == [0, 2, 4]
    assert bounds.greatest(lengths).tolist() == [3, 8, 15]
    assert LengthBounds(min_factor=9.0).least(lengths).tolist() == [9, 18, 28]
    assert LengthBounds(max_factor=0.0, max_extra=0).greatest(lengths).tolist() == [1, 1, 1]
