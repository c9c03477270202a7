import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from seq2seq.training import losses
from seq2seq.training.losses import token_cross_entropy
from seq2seq.training.metrics import metrics_of


@pytest.fixture(params=[True, False], ids=["with-bias", "without"])
def example(request):
    torch.manual_seed(0)
    features = torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)
    is_token = torch.arange(5) < torch.tensor([[5], [2], [1]])
    return features, nn.Linear(4, 9, bias=request.param).double(), torch.randint(0, 9, (3, 5)), is_token


def sums_of(example, label_smoothing=0.0):
    features, output, targets, is_token = example
    return token_cross_entropy(features, output, targets, is_token, label_smoothing=label_smoothing)


@pytest.fixture(params=[1, 3, 256], ids=lambda rows: f"{rows}-rows-at-a-time")
def chunk_rows(request, monkeypatch):
    monkeypatch.setitem(losses.CHUNK_ROWS, "cpu", request.param)


@pytest.mark.usefixtures("chunk_rows")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_sums_equal_torchs_own_cross_entropy(example, smoothing):
    features, output, targets, is_token = example
    sums = sums_of(example, smoothing)
    logits, kept = output(features[is_token]), targets[is_token]
    expected = cross_entropy(logits, kept, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(sums.objective, expected)
    torch.testing.assert_close(sums.nll, cross_entropy(logits, kept, reduction="sum"))
    assert sums.num_correct == (logits.argmax(-1) == kept).sum()
    assert sums.num_tokens == 8


@pytest.mark.usefixtures("chunk_rows")
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradients_equal_those_of_torchs_own_cross_entropy(example, smoothing):
    features, output, targets, is_token = example
    inputs = [features, *output.parameters()]
    found = torch.autograd.grad(3 * sums_of(example, smoothing).objective, inputs)
    logits = output(features[is_token])
    loss = cross_entropy(logits, targets[is_token], reduction="sum", label_smoothing=smoothing)
    for gradient, expected in zip(found, torch.autograd.grad(3 * loss, inputs), strict=True):
        torch.testing.assert_close(gradient, expected)


class Cosine(nn.Linear):
    """Logits of directions alone, as an output layer of one's own may compute them."""

    def forward(self, features):
        return 5 * nn.functional.linear(
            nn.functional.normalize(features, dim=-1), nn.functional.normalize(self.weight, dim=-1)
        )


LAYERS = {
    "own forward": lambda: nn.Sequential(Cosine(4, 9), nn.Tanh()),
    "hook": lambda: nn.utils.spectral_norm(nn.Linear(4, 9)).eval(),
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 9)),
}


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("kind", LAYERS)
def test_an_output_layer_of_one_s_own_is_what_is_trained(kind, example, smoothing):
    features, _, targets, is_token = example
    output = LAYERS[kind]().double()
    sums = token_cross_entropy(features, output, targets, is_token, label_smoothing=smoothing)
    logits, kept = output(features[is_token]), targets[is_token]
    expected = cross_entropy(logits, kept, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(sums.objective, expected)
    torch.testing.assert_close(sums.nll, cross_entropy(logits, kept, reduction="sum"))
    inputs = [features, *(each for name, each in output.named_parameters() if name != "0.bias")]
    for one, other in zip(
        torch.autograd.grad(sums.objective, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(one, other)
    assert sums.num_correct == (logits.argmax(-1) == kept).sum()


def test_one_token_of_the_vocabulary_is_right_also_where_bfloat16_makes_ties():
    torch.manual_seed(1)
    features, output = torch.randn(1, 30, 4), nn.Linear(4, 700)
    with torch.no_grad():  # the second half is the first but for what bfloat16 cannot tell
        output.weight[350:], output.bias[350:] = 1.0001 * output.weight[:350], output.bias[:350]
    is_token = torch.ones(1, 30, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        logits = output(features)[0]
        shared = (logits == logits.amax(dim=1, keepdim=True)).sum(dim=1) > 1
        assert shared.sum() > 5
        num_right = sum(
            token_cross_entropy(
                features, output, torch.full((1, 30), token), is_token, label_smoothing=0.0
            ).num_correct
            for token in range(700)
        )
    assert num_right == 30


def test_no_tensor_holds_all_logits(monkeypatch):
    monkeypatch.setitem(losses.CHUNK_ROWS, "cpu", 2)
    features, output = torch.randn(1, 40, 4, requires_grad=True), nn.Linear(4, 1000)
    is_token = torch.ones(1, 40, dtype=torch.bool)
    with torch.profiler.profile(profile_memory=True) as profile:
        sums = token_cross_entropy(features, output, torch.zeros(1, 40).long(), is_token, label_smoothing=0.0)
        sums.objective.backward()
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    assert largest < 40 * 1000 * 4 / 2


def test_very_unlikely_targets_have_finite_loss():
    features, output = torch.tensor([[[1000.0]]]), nn.Linear(1, 2)
    output.weight.data, output.bias.data = torch.tensor([[1.0], [-1.0]]), torch.zeros(2)
    sums = token_cross_entropy(
        features, output, torch.ones(1, 1).long(), torch.ones(1, 1).bool(), label_smoothing=0.0
    )
    assert sums.nll == 2000


def test_means_are_exact_over_ragged_batches(example):
    features, output, targets, is_token = example
    parts = [
        token_cross_entropy(
            features[i : i + 1], output, targets[i : i + 1], is_token[i : i + 1], label_smoothing=0.0
        )
        for i in range(3)
    ]
    together, added = (
        metrics_of(sums_of(example).stacked()),
        metrics_of(sum(part.stacked() for part in parts)),
    )
    for name, value in together.items():
        torch.testing.assert_close(added[name], value)
    assert together["perplexity"].item() == pytest.approx(math.exp(together["loss"].item()))
    mean_of_perplexities = sum(metrics_of(p.stacked())["perplexity"].item() for p in parts) / 3
    assert abs(mean_of_perplexities - together["perplexity"].item()) > 1e-3


def test_half_precision_logits_are_summed_in_float32(example):
    features, output, targets, is_token = example
    sums = token_cross_entropy(features.bfloat16(), output.bfloat16(), targets, is_token, label_smoothing=0.1)
    assert sums.nll.dtype == sums.objective.dtype == torch.float32


def test_autocast_takes_its_products_and_keeps_the_softmax_in_float32(example):
    features, output, targets, is_token = example
    single = (features.float(), output.float(), targets, is_token)
    exact = sums_of(single, 0.1).objective
    with torch.autocast("cpu", torch.bfloat16):
        rounded = sums_of(single, 0.1).objective
    assert rounded.dtype == torch.float32
    assert rounded != exact
    torch.testing.assert_close(rounded, exact, rtol=1e-2, atol=0)
