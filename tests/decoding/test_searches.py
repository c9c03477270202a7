"""Greedy search and beam search: what holds of each for every sentence and penalty."""

import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import LengthPenalty, Sampling, beam_search, sample_search, sample_tokens, top_k
from seq2seq.models.limits import LengthLimits
from tests.small import VARIANTS, model_of

SENTENCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [], [7, 7]]
PENALTIES = {"none": LengthPenalty(), "average": LengthPenalty("average"), "gnmt": LengthPenalty("gnmt", 0.6)}
SHORT = LengthLimits(max_ratio=1.0, max_extra=3)


def searched(kind, model, sentences, **options):
    """Hypotheses of each sentence; the kind is greedy or the name of a penalty."""
    source = SourceBatch.from_sentences(sentences)
    if kind == "greedy":
        return [[found] for found in greedy_search(model, source, limits=options.get("limits", SHORT))]
    options = {"size": 4, "num_best": 4, "limits": SHORT, **options}
    return beam_search(model, source, penalty=PENALTIES[kind], **options)


def sampled(model, sentences, numbers, **options):
    return sample_search(model, SourceBatch.from_sentences(sentences), Sampling(**options), numbers=numbers)


def sharp(**changes):
    """A model whose translations end at different lengths."""
    model = model_of(**changes)
    model.decoder.output.weight.data.mul_(12)
    return model


@pytest.fixture(params=["additive", "scaled_dot"])
def model(request):
    return sharp(score=request.param, num_layers=2)


every_search = pytest.mark.parametrize("kind", ["greedy", *PENALTIES])
every_penalty = pytest.mark.parametrize("kind", PENALTIES)


def forced(model, sentence, ids):
    """Score and attention of a translation, by teacher forcing."""
    source = SourceBatch.from_sentences([sentence])
    with torch.no_grad():
        features, weights = model.decoder(torch.tensor([[BEGIN_ID, *ids[:-1]]]), model.encode(source))
        logs = model.decoder.output(features).log_softmax(-1)[0]
    return float(logs[torch.arange(len(ids)), list(ids)].sum()), weights[0].mean(dim=1)


def assert_forced(model, sentence, hypothesis):
    score, weights = forced(model, sentence, hypothesis.ids)
    assert hypothesis.score == pytest.approx(score, abs=1e-9)
    torch.testing.assert_close(hypothesis.weights, weights, rtol=0, atol=1e-12)


def assert_same(found, expected):
    assert [each.ids for each in found] == [each.ids for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-10)
        torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=1e-12)


@every_search
def test_an_output_layer_may_have_no_bias(model, kind):
    output = model.decoder.output
    output.bias.data.zero_()
    expected = searched(kind, model, SENTENCES)
    model.decoder.output = torch.nn.Linear(output.in_features, output.out_features, bias=False).double()
    model.decoder.output.weight = output.weight
    for found, wanted in zip(searched(kind, model, SENTENCES), expected, strict=True):
        assert_same(found, wanted)


@every_penalty
@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_beam_of_one_equals_greedy(variant, kind):
    model = sharp(**VARIANTS[variant])
    beams = searched(kind, model, SENTENCES, size=1, num_best=1)
    for beam, greedy in zip(beams, searched("greedy", model, SENTENCES), strict=True):
        assert_same(beam, greedy)


@every_search
def test_hypotheses_are_different_come_best_first_and_are_scored_as_forced(model, kind):
    for sentence, beam in zip(SENTENCES, searched(kind, model, SENTENCES), strict=True):
        assert len({hypothesis.ids for hypothesis in beam}) == len(beam) == (1 if kind == "greedy" else 4)
        for hypothesis in beam:
            assert_forced(model, sentence, hypothesis)
        lengths, scores = (
            torch.tensor(each) for each in zip(*((len(h.ids), h.score) for h in beam), strict=True)
        )
        ranks = PENALTIES.get(kind, LengthPenalty()).apply(scores.double(), lengths).tolist()
        assert ranks == sorted(ranks, reverse=True)


@every_search
def test_a_translation_does_not_depend_on_the_sentences_beside_it(model, kind):
    together = searched(kind, model, SENTENCES)
    reversed_order = searched(kind, model, SENTENCES[::-1])[::-1]
    assert len({len(each.ids) for found in together for each in found}) > 1
    for sentence, one, other in zip(SENTENCES, together, reversed_order, strict=True):
        (alone,) = searched(kind, model, [sentence])
        assert_same(one, alone)
        assert_same(other, alone)


@pytest.mark.parametrize("kind", ["greedy", "none"])
def test_lengths_stay_within_their_bounds(model, kind):
    limits = LengthLimits(min_ratio=0.7 if kind == "none" else 0.0, max_ratio=1.5, max_extra=1)
    for bias, expected in ((1e9, "minimum"), (-1e9, "maximum")):
        model.decoder.output.bias.data[END_ID] = bias
        beams = searched(kind, model, SENTENCES, limits=limits, num_best=1)
        sources = torch.tensor([len(sentence) + 1 for sentence in SENTENCES])
        bounds = getattr(limits, expected)(sources).clamp(min=1).tolist()
        for (found,), bound, length in zip(beams, bounds, sources.tolist(), strict=True):
            assert len(found.ids) == bound
            assert found.weights.shape == (bound, length)


@every_penalty
def test_every_hypothesis_begins_with_the_forced_prefix_and_is_scored_with_it(model, kind):
    prefixes = [[5, 6], [], [4] * 30, [10], [0, 4, 4]]
    beams = searched(kind, model, SENTENCES, prefixes=prefixes, num_best=3)
    assert_same(beams[1], searched(kind, model, SENTENCES, num_best=3)[1])
    for sentence, prefix, beam in zip(SENTENCES, prefixes, beams, strict=True):
        assert beam
        for hypothesis in beam:
            assert list(hypothesis.ids[: len(prefix)]) == prefix
            assert len(hypothesis.ids) > len(prefix)
            assert_forced(model, sentence, hypothesis)


def test_padding_and_begin_are_never_chosen(model):
    for token in (PADDING_ID, BEGIN_ID):
        model.decoder.output.bias.data[token] = 1e3
    every = [*searched("greedy", model, SENTENCES), *searched("none", model, SENTENCES)]
    for found in (*every, sampled(model, SENTENCES, range(5))):
        assert not {PADDING_ID, BEGIN_ID} & {token for hypothesis in found for token in hypothesis.ids}


@pytest.mark.parametrize("num_best", [0, 5])
def test_more_hypotheses_than_the_beam_are_refused(model, num_best):
    with pytest.raises(ValueError, match="best of a beam of 4: give 1 to 4"):
        searched("none", model, SENTENCES, num_best=num_best)


def test_a_sample_depends_on_seed_and_number_and_not_on_the_sentences_beside_it():
    model = model_of()
    together = sampled(model, SENTENCES, range(5), seed=5)
    for number, sentence in enumerate(SENTENCES):
        (alone,) = sampled(model, [sentence], [number], seed=5)
        assert alone.ids == together[number].ids
    assert [h.ids for h in sampled(model, SENTENCES, range(5), seed=6)] != [h.ids for h in together]
    first, second = sampled(model, [SENTENCES[0]] * 2, [0, 1], seed=5)
    assert first.ids != second.ids


def test_a_sample_is_scored_by_its_log_probability_at_temperature_one():
    model = model_of()
    found = sampled(model, SENTENCES, range(5), temperature=3.0, top_k=4)
    for sentence, hypothesis in zip(SENTENCES, found, strict=True):
        assert_forced(model, sentence, hypothesis)


@pytest.mark.parametrize("options", [{"top_k": 1}, {"temperature": 1e-6}])
def test_without_room_for_chance_sampling_is_greedy(options):
    model = sharp()
    greedy = greedy_search(model, SourceBatch.from_sentences(SENTENCES))
    assert [h.ids for h in sampled(model, SENTENCES, range(5), **options)] == [h.ids for h in greedy]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_by_their_probabilities(temperature):
    logits = torch.tensor([1.0, -torch.inf, 0.0, 2.0, -1.0, -torch.inf])
    uniform = (torch.arange(20_000) + 0.5) / 20_000
    drawn = sample_tokens(logits.expand(20_000, -1), uniform, Sampling(temperature=temperature, top_k=3))
    kept = logits.clone()
    kept[4] = -torch.inf
    shares = torch.bincount(drawn, minlength=6) / 20_000
    torch.testing.assert_close(shares, (kept / temperature).softmax(-1), rtol=0, atol=1e-3)


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2**-24])
def test_a_token_of_no_probability_is_not_drawn_at_the_ends_either(uniform):
    logits = torch.tensor([[-torch.inf, 1.0, 2.0, -torch.inf]])
    assert int(sample_tokens(logits, torch.tensor([uniform]), Sampling())) in {1, 2}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_more_tokens_are_drawn_from_than_asked_for_when_some_are_equally_probable(count):
    logits = torch.tensor([-1.0, 2.0, 1.0, 2.0, 2.0]).expand(100, -1)
    uniform = torch.arange(100) / 100
    assert set(sample_tokens(logits, uniform, Sampling(top_k=count)).tolist()) == {1, 3, 4} - {
        *[3, 4][count - 1 :]
    }


@pytest.mark.parametrize(
    "options",
    [{"temperature": value} for value in (0.0, -1.0, 1e-40, float("inf"), float("nan"))]
    + [{"top_k": 0}, {"seed": -1}, {"temperature": "1"}, {"top_k": 2.5}, {"seed": "1"}],
)
def test_values_that_mean_nothing_are_refused(options):
    with pytest.raises(InputError, match="|".join(options).replace("_", ".")):
        Sampling(**options)


@pytest.mark.parametrize("size", [5, 64, 127, 128, 129, 448, 449, 1000])
def test_the_largest_logits_are_those_of_topk_and_the_first_of_equals(size):
    generator = torch.Generator().manual_seed(size)
    logits = torch.randn(3, 2, size, generator=generator)
    logits[0, 0, -3:] = 50 + torch.arange(3)
    logits[1, :, :3] = -torch.inf
    for found, expected in zip(top_k(logits, 5), logits.topk(5), strict=True):
        torch.testing.assert_close(found, expected)
