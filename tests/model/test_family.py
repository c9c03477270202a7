"""Combinations of cells, decoders and attentions. A sample; `make family` takes all of them."""

import pytest
import torch

from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.forced import force_decode
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.decoding.sampling import Sampling, sample_search
from seq2seq.model.memory import select_state
from seq2seq.text.batch import Batch
from seq2seq.text.store import EncodedSplit, TokenStore
from tests.models import model_of

BOUNDS = LengthBounds(max_factor=1.0, max_extra=3)


def model_with(chosen):
    """The model of a choice, see `tests.combinations`."""
    names = {"embedding_size": 8, "encoder_hidden_size": 4, "decoder_hidden_size": 8}
    return model_of(**names, **{key.partition(".")[2]: value for key, value in chosen.items()})


def batch_of(sources, targets):
    stores = {
        "source": TokenStore.from_sentences(sources),
        "target": TokenStore.from_sentences(targets),
    }
    split = EncodedSplit(pairs=[], **stores, num_blank=0, num_long=0)
    return Batch.from_split(split, range(len(sources)))


SOURCES = [[4, 5, 6], [7], [8, 9, 10, 4, 5]]


def test_every_combination_is_built_and_steps(combination):
    model = model_with(combination)
    source = batch_of(SOURCES, SOURCES).source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    state, tokens = model.decoder.initial_state(memory), torch.tensor([4, 5, 6])
    features, new, weights = model.decoder.step(model.decoder.embedding(tokens), state, memory)
    assert model.decoder.output(features).shape == (3, 11)
    assert [part.shape for part in new] == [part.shape for part in state]
    assert model.decoder.attends == (weights is not None)
    if weights is not None:
        torch.testing.assert_close(weights.sum(1), torch.ones_like(weights[:, 0]))
    rows = torch.tensor([2, 0])  # a search keeps some of the sentences
    kept, _, _ = model.decoder.step(
        model.decoder.embedding(tokens[rows]), select_state(state, rows), memory.select(rows)
    )
    torch.testing.assert_close(kept, features[rows], rtol=0, atol=1e-12)


def test_every_search_says_the_score_that_forcing_gives(combination):
    model = model_with(combination)
    model.decoder.output.weight.data.mul_(3)
    source = batch_of(SOURCES, SOURCES).source
    greedy = greedy_search(model, source, bounds=BOUNDS)
    narrow = beam_search(model, source, size=1, bounds=BOUNDS)
    assert [each.ids for (each,) in narrow] == [each.ids for each in greedy]
    best = [first for first, *_ in beam_search(model, source, size=5, bounds=BOUNDS)]
    drawn = sample_search(model, source, Sampling(), numbers=[1, 2, 3], bounds=BOUNDS)
    for found in (greedy, best, drawn):
        whole = [each.ids[-1] == 3 for each in found]
        ids = [each.ids[:-1] if ends else each.ids for each, ends in zip(found, whole, strict=True)]
        forced = force_decode(model, batch_of(SOURCES, ids))
        for each, given, ends in zip(found, forced, whole, strict=True):
            rows = len(each.ids)
            torch.testing.assert_close(each.weights, given.weights[:rows], rtol=0, atol=1e-12)
            if ends:
                assert each.score == pytest.approx(given.score, abs=1e-10)


def test_training_learns_to_copy(covered):
    model = model_with(covered).float().train()
    generator = torch.Generator().manual_seed(2)
    sentences = [torch.randint(4, 11, (2,), generator=generator).tolist() for _ in range(200)]
    batch = batch_of(sentences, sentences)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = [_step(model, batch, optimiser) for _ in range(25)]
    assert losses[-1] < 0.8 * losses[0]


def _step(model, batch, optimiser):
    source = batch.source
    unrolled = model(
        source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths
    )
    logits = model.decoder.output(unrolled.features[batch.target_is_token])
    loss = torch.nn.functional.cross_entropy(logits, batch.target_output[batch.target_is_token])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return float(loss.detach())
