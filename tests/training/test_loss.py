import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from seq2seq.training.loss import token_cross_entropy


@pytest.fixture
def example():
    torch.manual_seed(0)
    features = torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)
    is_token = torch.arange(5) < torch.tensor([[5], [2], [1]])
    return features, nn.Linear(4, 9).double(), torch.randint(0, 9, (3, 5)), is_token


def sums_of(example, label_smoothing=0.0):
    features, output, targets, is_token = example
    return token_cross_entropy(features, output, targets, is_token, label_smoothing=label_smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_sums_equal_torchs_own_cross_entropy(example, smoothing):
    features, output, targets, is_token = example
    sums = sums_of(example, smoothing)
    logits, kept = output(features[is_token]), targets[is_token]
    expected = cross_entropy(logits, kept, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(sums.smoothed, expected)
    torch.testing.assert_close(sums.nll, cross_entropy(logits, kept, reduction="sum"))
    assert sums.num_correct == (logits.argmax(-1) == kept).sum()
    assert sums.num_tokens == 8


def test_means_are_exact_over_ragged_batches(example):
    features, output, targets, is_token = example
    parts = [
        token_cross_entropy(
            features[i : i + 1],
            output,
            targets[i : i + 1],
            is_token[i : i + 1],
            label_smoothing=0.0,
        )
        for i in range(3)
    ]
    together, added = sums_of(example).metrics(), (parts[0] + parts[1] + parts[2]).metrics()
    for name, value in together.items():
        torch.testing.assert_close(added[name], value)
    assert together["perplexity"].item() == pytest.approx(math.exp(together["loss"].item()))
    mean_of_perplexities = sum(p.metrics()["perplexity"].item() for p in parts) / 3
    assert abs(mean_of_perplexities - together["perplexity"].item()) > 1e-3


def test_half_precision_logits_are_summed_in_float32(example):
    features, output, targets, is_token = example
    sums = token_cross_entropy(
        features.bfloat16(), output.bfloat16(), targets, is_token, label_smoothing=0.1
    )
    assert sums.nll.dtype == sums.smoothed.dtype == torch.float32
