"""The faster way of training against the model's own `forward`, which the other oracles hold, in float64."""

from functools import partial

import pytest
import torch

from seq2seq.models import BahdanauDecoder
from seq2seq.models.fast import is_supported, teacher_forcing
from tests.small import model_of

SOURCE, TARGET = torch.tensor([6, 3, 1, 4, 6]), torch.tensor([2, 7, 1, 5, 7])


def small_model(**changes):
    sizes = {"source_vocab_size": 20, "target_vocab_size": 20, "embedding_size": 7, "attention_size": 10}
    sizes |= {"encoder_hidden_size": 6, "decoder_hidden_size": 10}
    return model_of(**sizes, seed=1, **changes).train()


def results(model, forward, source_lengths=SOURCE, target_lengths=TARGET):
    """Features, weights, and the gradients of all parameters, of one draw of dropout."""
    torch.manual_seed(2)
    source = torch.randint(4, 20, (len(source_lengths), int(source_lengths.max())))
    target = torch.randint(4, 20, (len(target_lengths), int(target_lengths.max())))
    is_token = torch.arange(source.shape[1]) < source_lengths.unsqueeze(1)
    model.zero_grad()
    features, weights = forward((source, source_lengths, is_token), target, target_lengths)
    of_features, of_weights = torch.randn(features.shape), torch.randn(weights.shape)
    ((features * of_features).sum() + (weights * of_weights).sum()).backward()
    gradients = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    return {"features": features, "weights": weights, **gradients}


def assert_same(model, *lengths, **tolerance):
    expected = results(model, lambda source, *target: model(*source, *target), *lengths)
    found = results(model, partial(teacher_forcing, model), *lengths)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, **tolerance or {"rtol": 1e-9, "atol": 1e-10}, msg=name)


@pytest.mark.parametrize("score", ["additive", "dot", "scaled_dot", "bilinear"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"query_with_embedding": True, "readout_size": 5},
        {"dropout": 0.4, "embedding_dropout": 0.2, "readout_size": 5},
        {"dropout": 0.4, "variational_dropout": True, "query_with_embedding": True},
        {"bidirectional": False, "encoder_layers": 2, "initial_state": "zeros"},
    ],
    ids=str,
)
def test_values_and_gradients_are_those_of_the_definition(score, options):
    model = small_model(score=score, **options)
    assert is_supported(model.decoder)
    assert_same(model)


@pytest.mark.parametrize(
    "lengths", [([1], [1]), ([5], [1]), ([1], [6]), ([4, 4, 4], [5, 5, 5]), ([2, 9], [9, 2])], ids=str
)
def test_one_sentence_one_token_and_no_padding(lengths):
    assert_same(small_model(query_with_embedding=True), *map(torch.tensor, lengths))


def test_large_queries_and_keys():
    model = small_model()
    with torch.no_grad():
        model.decoder.attention.score.query_projection.weight *= 50
        model.decoder.attention.score.key_projection.weight *= 8
    assert_same(model)


def test_products_in_bfloat16_are_near():
    model = small_model(readout_size=5, query_with_embedding=True).float()
    with torch.autocast("cpu", torch.bfloat16):
        found = results(model, partial(teacher_forcing, model))
    expected = results(model, lambda source, *target: model(*source, *target))
    for name, value in expected.items():
        apart = (found[name].float() - value).norm() / value.norm().clamp_min(1e-6)
        assert float(apart.detach()) < 0.05, name


@pytest.mark.parametrize(
    "options",
    [
        {"num_layers": 2},
        {"cell": "lstm"},
        {"score": "gaussian"},
        {"score": "coverage"},
        {"normalizer": "sparsemax"},
        {"alignment": "monotonic"},
        {"attention_dropout": 0.3},
        {"decoder": "luong"},
    ],
    ids=str,
)
def test_other_models_are_computed_by_their_own_forward(options):
    model = small_model(**options)
    assert not is_supported(model.decoder)
    assert_same(model)


def test_a_subclass_may_compute_something_else():
    class Mine(BahdanauDecoder):
        pass

    assert not is_supported(small_model(decoder=Mine).decoder)
