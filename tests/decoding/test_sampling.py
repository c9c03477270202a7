import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, PADDING_ID
from seq2seq.decoding.search import Sampling, draw, greedy_search, sample_search
from tests.small import model_of

SENTENCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [7, 7]]


def sampled(model, sentences, numbers, **options):
    source = SourceBatch.from_sentences(sentences)
    return sample_search(model, source, Sampling(**options), numbers=numbers)


def test_a_sample_depends_on_seed_and_number_and_not_on_the_sentences_beside_it():
    model = model_of()
    together = sampled(model, SENTENCES, [0, 1, 2, 3], seed=5)
    for number, sentence in enumerate(SENTENCES):
        (alone,) = sampled(model, [sentence], [number], seed=5)
        assert alone.ids == together[number].ids
    assert [h.ids for h in sampled(model, SENTENCES, [0, 1, 2, 3], seed=6)] != [h.ids for h in together]
    first, second = sampled(model, [SENTENCES[0]] * 2, [0, 1], seed=5)
    assert first.ids != second.ids


def test_a_sample_is_scored_by_its_log_probability_at_temperature_one():
    model = model_of()
    for sentence, found in zip(
        SENTENCES, sampled(model, SENTENCES, range(4), temperature=3.0, top_k=4), strict=True
    ):
        source = SourceBatch.from_sentences([sentence])
        inputs = torch.tensor([[BEGIN_ID, *found.ids[:-1]]])
        with torch.no_grad():
            features = model(source.ids, source.lengths, source.is_token, inputs)[0]
            steps = model.decoder.output(features).log_softmax(-1)[0]
        score = steps[torch.arange(len(found.ids)), list(found.ids)].sum()
        assert found.score == pytest.approx(float(score), abs=1e-9)


@pytest.mark.parametrize("options", [{"top_k": 1}, {"temperature": 1e-6}])
def test_without_room_for_chance_sampling_is_greedy(options):
    model = model_of()
    model.decoder.output.weight.data.mul_(12)
    greedy = greedy_search(model, SourceBatch.from_sentences(SENTENCES))
    found = sampled(model, SENTENCES, range(4), **options)
    assert [h.ids for h in found] == [h.ids for h in greedy]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_by_their_probabilities(temperature):
    logits = torch.tensor([1.0, -torch.inf, 0.0, 2.0, -1.0, -torch.inf])
    uniform = (torch.arange(20_000) + 0.5) / 20_000
    options = Sampling(temperature=temperature, top_k=3)
    drawn = draw(logits.expand(20_000, -1), uniform, options)
    kept = logits.clone()
    kept[4] = -torch.inf
    shares = torch.bincount(drawn, minlength=6) / 20_000
    torch.testing.assert_close(shares, (kept / temperature).softmax(-1), rtol=0, atol=1e-3)


def test_padding_and_begin_are_never_drawn():
    model = model_of()
    for token in (PADDING_ID, BEGIN_ID):
        model.decoder.output.bias.data[token] = 1e3
    for found in sampled(model, SENTENCES, range(4)):
        assert not {PADDING_ID, BEGIN_ID} & set(found.ids)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": -1.0}, {"top_k": 0}])
def test_values_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match=r"temperature is above 0|top-k is at least 1"):
        Sampling(**options)


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2**-24])
def test_a_token_of_no_probability_is_not_drawn_at_the_ends_either(uniform):
    logits = torch.tensor([[-torch.inf, 1.0, 2.0, -torch.inf]])
    assert int(draw(logits, torch.tensor([uniform]), Sampling())) in {1, 2}
