import pytest
import torch

from seq2seq.training.loss import LossSums
from seq2seq.training.process_group import ALONE
from seq2seq.training.step_gradient import StepGradient


def sums_of(weight, tokens):
    """Squared distances of a weight from tokens, as if they were losses."""
    losses = (weight - torch.tensor(tokens)).square()
    none = torch.zeros(())
    count = torch.tensor(float(len(tokens)))
    return LossSums(losses.sum().detach(), losses.sum(), none, count, none, none)


def gradient_of(batches, bound=torch.inf):
    """Of a step over batches, as Lightning accumulates them, and its norm before clipping."""
    weight = torch.nn.Parameter(torch.zeros(()))
    step = StepGradient(ALONE)
    for tokens in batches:
        (step.add(sums_of(weight, tokens)) / len(batches)).backward()
    norm = step.scale([weight], step.end(), accumulate=len(batches), bound=bound)
    return weight.grad.item(), norm.item()


@pytest.mark.parametrize("batches", [[[1.0, 2, 6]], [[1.0], [2.0, 6]], [[1.0], [2.0], [6.0]]])
def test_the_gradient_is_that_of_the_mean_over_all_tokens_however_they_are_cut(batches):
    assert gradient_of(batches) == pytest.approx((-6.0, 6.0))


def test_the_gradient_is_clipped_by_its_own_norm():
    assert gradient_of([[1.0], [2.0, 6.0]], bound=1.5) == pytest.approx((-1.5, 6.0))
    assert gradient_of([[1.0], [2.0, 6.0]], bound=7.0) == pytest.approx((-6.0, 6.0))


def test_the_sums_of_a_step_begin_anew_with_the_next():
    weight, step = torch.zeros(()), StepGradient(ALONE)
    step.add(sums_of(weight, [1.0, 2.0]))
    step.end()
    step.add(sums_of(weight, [3.0]))
    sums = step.end()
    assert (float(sums.smoothed), float(sums.num_tokens)) == (9.0, 1.0)
    with pytest.raises(RuntimeError, match="without a batch"):
        step.end()
