import pytest
import torch

from seq2seq.model.fused import attention
from seq2seq.model.fused.choice import for_search
from seq2seq.text.batch import SourceBatch
from tests.models import VARIANTS, model_of

SENTENCES = [[4, 5, 6, 7, 8], [9], [10, 4]]
EXACT = {"rtol": 0, "atol": 1e-12}


def encoded(model):
    source = SourceBatch.from_sentences(SENTENCES)
    return model.encode(source.ids, source.lengths, source.is_token)


def state_of(initial, num_hypotheses):
    """Different states for every hypothesis."""
    torch.manual_seed(1)
    states = [s.repeat_interleave(num_hypotheses, dim=0) for s in initial]
    return tuple(state + torch.randn_like(state) for state in states)


def assert_a_step_is_the_definitions(model, memory, decoder):
    tokens = torch.tensor([[4, 5], [5, 5], [9, 4]])[: len(memory.states)]
    state = state_of(decoder.initial_state(), 2)
    with torch.no_grad():
        features, found, weights = decoder.step(tokens, state)
        expected = model.decoder.step(model.decoder.embedding(tokens.flatten()), state, memory)
    torch.testing.assert_close(features, expected[0], **EXACT)
    torch.testing.assert_close(found, expected[1], **EXACT)
    torch.testing.assert_close(weights, expected[2], **EXACT)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_step_of_a_search_is_the_decoders_step(variant):
    model = model_of(**VARIANTS[variant])
    with torch.no_grad():
        memory = encoded(model)
        decoder = for_search(model.decoder, memory)
    assert_a_step_is_the_definitions(model, memory, decoder)
    rows = torch.tensor([2, 0])
    with torch.no_grad():
        selected = decoder.select(rows)
    assert_a_step_is_the_definitions(model, memory.select(rows), selected)


@pytest.mark.parametrize("large", ["query_projection", "key_projection"])
def test_very_large_queries_and_keys_are_scored_without_overflow(large):
    model = model_of()
    with torch.no_grad():
        getattr(model.decoder.attention.score, large).weight.mul_(50 * attention.SAFE_EXPONENT)
        memory = encoded(model)
        decoder = for_search(model.decoder, memory)
    assert_a_step_is_the_definitions(model, memory, decoder)
    assert_a_step_is_the_definitions(model, memory, decoder)
