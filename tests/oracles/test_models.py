"""Training passes against the oracle: loss, attention and every gradient, dropout included."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from seq2seq.models.decoder import Decoder
from seq2seq.training.losses import token_cross_entropy
from tests.oracles.cases import SCORES, oracle_of, training_case
from tests.oracles.dropout import Masks
from tests.small import DECODERS

SMOOTHING = 0.1


def cotangent(sentence, length, num_columns):
    """What the attention of a sentence is multiplied with, so that it has a gradient too."""
    generator = torch.Generator().manual_seed(sentence)
    return torch.rand(20, 20, generator=generator, dtype=torch.float64)[:length, :num_columns]


def passed(spec, model, batch, *, by_steps=False):
    """Sums of the loss, features, weights and gradients of the model's own pass, and its masks."""
    source = batch.source
    with Masks(model, spec, batch.target_lengths) as masks:
        if by_steps:
            memory = model.encode(source)
            features, weights = Decoder.forward(
                model.decoder, batch.target_input, memory, batch.target_lengths
            )
        else:
            features, weights = model(batch)
    masks.check()
    weights = None if weights is None else weights.mean(dim=2)
    sums = token_cross_entropy(
        features, model.decoder.output, batch.target_output, batch.target_is_token, label_smoothing=SMOOTHING
    )
    total = sums.objective
    if weights is not None:
        pairs = zip(weights, batch.target_lengths.tolist(), source.lengths.tolist(), strict=True)
        for number, (of_sentence, length, width) in enumerate(pairs):
            total = total + (of_sentence[:length, :width] * cotangent(number, length, width)).sum()
    total.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return sums, features.detach(), weights if weights is None else weights.detach(), gradients, masks


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
        loss = loss + cross_entropy(logits, targets, reduction="sum", label_smoothing=SMOOTHING)
        nll += float(cross_entropy(logits.detach(), targets, reduction="sum"))
        rows.append((torch.stack(features), None if weights[0] is None else torch.stack(weights)))
        if weights[0] is not None:
            loss = loss + (rows[-1][1] * cotangent(sentence, length, len(ids))).sum()
    loss.backward()
    return nll, rows, {name: copy.grad for name, copy in parameters.items()}


def compared(case, dtype=torch.float64, *, mixed=False, by_steps=False):
    """Greatest difference of log-likelihood and outputs; that of all gradients, RMS over RMS."""
    spec, model, batch = case
    model = model.to(dtype).train()
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        sums, features, weights, gradients, masks = passed(spec, model, batch, by_steps=by_steps)
    nll, rows, exact = expected(spec, model, batch, masks)
    worst = abs(float(sums.nll.detach()) - nll) / nll
    for number, (right, looked) in enumerate(rows):
        length = len(right)
        worst = max(worst, float((features[number, :length] - right).detach().abs().max()))
        assert not features[number, length:].any(), "features on padding"
        assert (looked is None) == (weights is None)
        if looked is not None:
            width = looked.shape[1]
            worst = max(worst, float((weights[number, :length, :width] - looked).detach().abs().max()))
            assert weights.dtype == dtype
            assert not weights[number, length:].any(), "attention of padding"
            assert not weights[number, :, width:].any(), "attention on padding"
    squares, differences = 0.0, 0.0
    for name, gradient in exact.items():
        found = gradients[name]
        if gradient is None:
            assert found is None or found.abs().max() < 1e-12, name
            continue
        squares += float(gradient.square().sum())
        differences += float((0 - gradient if found is None else found.double() - gradient).square().sum())
    return worst, (differences / squares) ** 0.5


@pytest.mark.parametrize("by_steps", [False, True], ids=["forward", "steps"])
@pytest.mark.parametrize("seed", range(14))
def test_a_random_model_is_its_formula_with_every_gradient(seed, by_steps):
    worst, of_gradients = compared(training_case(seed), by_steps=by_steps)
    assert worst < 1e-12
    assert of_gradients < 1e-11


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_decoder_cell_and_score_is_its_formula_with_every_gradient(decoder, cell, score):
    seed = SCORES.index(score)
    changes = {"decoder": decoder, "cell": cell, "score": score}
    case = training_case(20 + seed, **changes, reverse_source=seed % 2 == 1, input_feeding=seed < 3)
    worst, of_gradients = compared(case)
    assert worst < 1e-12
    assert of_gradients < 1e-11


@pytest.mark.parametrize("seed", range(5))
def test_float32_is_the_model_but_for_rounding(seed):
    worst, of_gradients = compared(training_case(seed), torch.float32)
    assert worst < 1e-5
    assert of_gradients < 1e-5


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_bfloat16_products_leave_every_decoder_what_it_is(decoder, cell):
    case = training_case(2, decoder=decoder, cell=cell, dropout=0.0)
    worst, of_gradients = compared(case, torch.float32, mixed=True)
    assert worst < 0.1
    assert of_gradients < 0.05


@pytest.mark.parametrize("place", [None, "embedding_dropout", "output_dropout"])
def test_dropout_acts_on_embeddings_between_layers_and_on_both_outputs(place):
    changes = {"dropout": 0.4, "num_layers": 3, "readout_size": 7, "tie": "none"}
    if place is not None:
        changes |= {place: 0.15}
    case = training_case(3, **changes)
    worst, of_gradients = compared(case)
    assert worst < 1e-12
    assert of_gradients < 1e-11
