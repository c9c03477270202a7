"""Training passes against the oracle: loss, attention and every gradient, dropout included."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from seq2seq.training.loss import token_cross_entropy
from tests.oracles import cases
from tests.oracles.cases import FAST, PLAIN, is_fused, oracle_of, training_case
from tests.oracles.dropout import Draws, Masks

SMOOTHING = 0.1

of_a_processor = pytest.mark.skipif(
    "config.getoption('device') != 'cpu'", reason="a GPU's own library tells no masks"
)


def cotangent(sentence, length, num_columns):
    """What the attention of a sentence is multiplied with, so that it has a gradient too."""
    generator = torch.Generator().manual_seed(sentence)
    numbers = torch.rand(20, 20, generator=generator, dtype=torch.float64)
    return numbers[:length, :num_columns]


def matrices_of(result):
    """The attention of each sentence; None of a decoder without."""
    return [None] * len(result.features) if result.weights is None else result.weights


def passed(model, batch):
    """Loss, weights and gradients of the model's own pass, and the masks it drew."""
    batch = batch.to(cases.device)
    source = batch.source
    with Draws() as draws:
        result = model(
            source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths
        )
    sums = token_cross_entropy(
        result.features,
        model.decoder.output,
        batch.target_output,
        batch.target_is_token,
        label_smoothing=SMOOTHING,
    )
    looked = [
        (weights[:length, :width] * cotangent(number, length, width).to(weights.device)).sum()
        for number, (weights, length, width) in enumerate(
            zip(matrices_of(result), batch.target_lengths, source.lengths, strict=True)
        )
        if weights is not None
    ]
    (sums.smoothed + sum(looked)).backward()
    gradients = {
        name: None if parameter.grad is None else parameter.grad.cpu()
        for name, parameter in model.named_parameters()
    }
    weights = None if result.weights is None else result.weights.cpu()
    found = replace(result, features=result.features.cpu(), weights=weights)
    return sums, found, gradients, [mask.cpu() for mask in draws.masks]


def expected(spec, model, batch, masks):
    """The same by the oracle."""
    oracle, parameters = oracle_of(spec, model)
    loss, nll, rows = 0, 0, []
    for sentence in range(len(batch)):
        drop = masks.of(sentence)
        ids = batch.source.ids[sentence, : batch.source.lengths[sentence]].tolist()
        length = int(batch.target_lengths[sentence])
        encoded = oracle.encode(ids, drop)
        state, weights, features = oracle.start(encoded), [], []
        for time, token in enumerate(batch.target_input[sentence, :length].tolist()):
            found, state, looked = oracle.step(token, state, encoded, time, drop)
            features.append(found)
            weights.append(looked)
        logits = torch.stack([oracle.logits(row) for row in features])
        targets = batch.target_output[sentence, :length]
        loss += cross_entropy(logits, targets, reduction="sum", label_smoothing=SMOOTHING)
        nll += float(cross_entropy(logits.detach(), targets, reduction="sum"))
        rows.append((torch.stack(features), None if weights[0] is None else torch.stack(weights)))
        if weights[0] is not None:
            loss += (rows[-1][1] * cotangent(sentence, length, len(ids))).sum()
    loss.backward()
    return nll, rows, {name: copy.grad for name, copy in parameters.items()}


def compared(case, dtype=torch.float64, *, mixed=False):
    """Greatest difference of log-likelihood and outputs; that of all gradients, RMS over RMS."""
    spec, model, batch = case
    model = model.to(cases.device, dtype).train()
    with torch.autocast(cases.device.type, torch.bfloat16, enabled=mixed):
        sums, result, gradients, drawn = passed(model, batch)
    masks = Masks(drawn, spec, batch, is_packed=is_fused(spec))
    nll, rows, exact = expected(spec, model, batch, masks)
    worst = abs(float(sums.nll.detach()) - nll) / nll
    for found, looked, (features, weights) in zip(
        result.features, matrices_of(result), rows, strict=True
    ):
        length = len(features)
        worst = max(worst, float((found[:length] - features).detach().abs().max()))
        assert not found[length:].any(), "features on padding"
        assert (looked is None) == (weights is None)
        if looked is not None:
            width = weights.shape[1]
            worst = max(worst, float((looked[:length, :width] - weights).detach().abs().max()))
            assert looked.dtype == dtype
            assert not looked[length:].any(), "attention of padding"
            assert not looked[:, width:].any(), "attention on padding"
    squares, differences = 0.0, 0.0
    for name, gradient in exact.items():
        assert (gradients[name] is None or not gradients[name].any()) == (
            gradient is None or not gradient.any()
        ), name
        if gradient is not None and gradients[name] is not None:
            squares += float(gradient.square().sum())
            differences += float((gradients[name].double() - gradient).square().sum())
    return worst, (differences / squares) ** 0.5


@pytest.mark.parametrize("seed", range(24))
def test_the_fused_pass_is_the_model_with_every_gradient(seed):
    worst, of_gradients = compared(training_case(seed, FAST))
    assert worst < 1e-12
    assert of_gradients < 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_the_plain_loop_is_the_model_with_every_gradient(seed):
    worst, of_gradients = compared(training_case(seed, PLAIN))
    assert worst < 1e-12
    assert of_gradients < 1e-12


@pytest.mark.parametrize("scores", [FAST, PLAIN], ids=["fused", "plain"])
@pytest.mark.parametrize("seed", range(5))
def test_float32_is_the_model_but_for_rounding(seed, scores):
    worst, of_gradients = compared(training_case(seed, scores), torch.float32)
    assert worst < 1e-5
    assert of_gradients < 1e-5


@pytest.mark.parametrize("scores", [FAST, PLAIN], ids=["fused", "plain"])
@pytest.mark.parametrize("seed", range(5))
def test_bfloat16_products_leave_the_model_what_it_is(seed, scores):
    worst, of_gradients = compared(training_case(seed, scores), torch.float32, mixed=True)
    assert worst < 0.05
    assert of_gradients < 0.03


@of_a_processor
@pytest.mark.parametrize("by_sentence", [False, True], ids=["by token", "by sentence"])
@pytest.mark.parametrize("scores", [FAST, PLAIN], ids=["fused", "plain"])
def test_dropout_acts_on_embeddings_between_layers_and_on_both_outputs(scores, by_sentence):
    changes = {"dropout": 0.4, "num_layers": 3, "dropout_by_sentence": by_sentence}
    worst, of_gradients = compared(
        training_case(3, scores, readout_size=7, tying="none", **changes)
    )
    assert worst < 1e-12
    assert of_gradients < 1e-12


PLACES = ("embedding_dropout", "memory_dropout", "readout_dropout")


@of_a_processor
@pytest.mark.parametrize("by_sentence", [False, True], ids=["by token", "by sentence"])
@pytest.mark.parametrize("scores", [FAST, PLAIN], ids=["fused", "plain"])
@pytest.mark.parametrize("place", PLACES)
def test_a_place_with_a_probability_of_its_own_has_that_one(place, scores, by_sentence):
    for rest in (0.0, 0.25):
        changes = {"dropout": 0.25 - rest, "num_layers": 2, "dropout_by_sentence": by_sentence}
        own = dict.fromkeys(PLACES, rest) | {place: 0.4}
        case = training_case(3, scores, readout_size=7, tying="none", **changes, **own)
        worst, of_gradients = compared(case)
        assert worst < 1e-12
        assert of_gradients < 1e-12
