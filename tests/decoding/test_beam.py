import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.search import LengthPenalty, beam_search, greedy_search
from seq2seq.models.limits import LengthLimits
from tests.small import VARIANTS, model_of

SENTENCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [], [7, 7]]
PENALTIES = {
    "none": LengthPenalty(),
    "average": LengthPenalty("average"),
    "gnmt": LengthPenalty("gnmt", 0.6),
}
SHORT = LengthLimits(max_ratio=1.0, max_extra=3)


def searched(models, sentences, **options):
    options = {"size": 4, "limits": SHORT, **options}
    return beam_search(models, SourceBatch.from_sentences(sentences), **options)


def sharp(**changes):
    """A model whose translations end at different lengths."""
    model = model_of(**changes)
    model.decoder.output.weight.data.mul_(12)
    return model


@pytest.fixture(params=["additive", "scaled_dot"])
def model(request):
    return sharp(score=request.param, num_layers=2)


@pytest.fixture(params=PENALTIES)
def penalty(request):
    return PENALTIES[request.param]


def forced(model, sentence, ids):
    """Score and attention of a translation, by teacher forcing."""
    source = SourceBatch.from_sentences([sentence])
    inputs = torch.tensor([[BEGIN_ID, *ids[:-1]]])
    with torch.no_grad():
        unrolled = model(source.ids, source.lengths, source.is_token, inputs)
        log_probabilities = model.decoder.output(unrolled[0]).log_softmax(-1)[0]
    score = log_probabilities[torch.arange(len(ids)), list(ids)].sum()
    return float(score), unrolled[1][0]


def rank(penalty, hypothesis):
    length = torch.tensor(len(hypothesis.ids))
    return float(penalty.apply(torch.tensor(hypothesis.score, dtype=torch.float64), length))


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_beam_of_one_equals_greedy(variant, penalty):
    model = sharp(**VARIANTS[variant])
    greedy = greedy_search(model, SourceBatch.from_sentences(SENTENCES))
    beams = beam_search(model, SourceBatch.from_sentences(SENTENCES), size=1, penalty=penalty)
    for (found,), expected in zip(beams, greedy, strict=True):
        assert found.ids == expected.ids
        assert found.score == pytest.approx(expected.score, abs=1e-10)
        torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-12)


def test_a_hypothesis_has_the_score_and_the_attention_of_forcing_it(model, penalty):
    for sentence, beam in zip(
        SENTENCES, searched(model, SENTENCES, num_best=4, penalty=penalty), strict=True
    ):
        assert len(beam) == 4
        for hypothesis in beam:
            score, weights = forced(model, sentence, hypothesis.ids)
            assert hypothesis.score == pytest.approx(score, abs=1e-9)
            torch.testing.assert_close(hypothesis.weights, weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("num_best", [1, 3])
def test_a_translation_does_not_depend_on_the_sentences_beside_it(model, penalty, num_best):
    options = {"num_best": num_best, "penalty": penalty}
    together = searched(model, SENTENCES, **options)
    reversed_order = searched(model, SENTENCES[::-1], **options)[::-1]
    for sentence, one, other in zip(SENTENCES, together, reversed_order, strict=True):
        (alone,) = searched(model, [sentence], **options)
        assert [h.ids for h in one] == [h.ids for h in other] == [h.ids for h in alone]
        for found, expected in zip(one, alone, strict=True):
            assert found.score == pytest.approx(expected.score, abs=1e-10)
            torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-12)


def test_nothing_is_computed_of_the_words_after_a_hypothesis_that_has_left(monkeypatch):
    model, num_rows = sharp(), []
    model.decoder.output.bias.data[END_ID] = -1e9
    log_softmax = torch.log_softmax
    monkeypatch.setattr(
        torch,
        "log_softmax",
        lambda logits, **options: num_rows.append(len(logits)) or log_softmax(logits, **options),
    )
    searched(model, [[4, 5, 6], [7, 8, 9]], prefixes=[[5, 6, 4, 4], []])
    assert num_rows[:2] == [1 + 1, 1 + 4]  # within its prefix a translation has one hypothesis


def test_hypotheses_come_best_first_and_are_different(model, penalty):
    for beam in searched(model, SENTENCES, num_best=4, penalty=penalty):
        ranks = [rank(penalty, hypothesis) for hypothesis in beam]
        assert ranks == sorted(ranks, reverse=True)
        assert len({hypothesis.ids for hypothesis in beam}) == len(beam)


def test_a_beam_of_everything_finds_the_likeliest_translation():
    model = model_of(target_vocab_size=6)
    limits = LengthLimits(max_ratio=0.0, max_extra=3)
    (beam,) = searched(model, [[4, 5]], size=40, num_best=1, limits=limits)
    words = [0, 4, 5]
    every = [(END_ID,), *((a, END_ID) for a in words)]
    every += [(a, b, c) for a in words for b in words for c in [*words, END_ID]]
    scores = {ids: forced(model, [4, 5], ids)[0] for ids in every}
    assert beam[0].ids == max(scores, key=scores.get)


def test_a_larger_beam_with_one_step_less_greed_scores_at_least_as_high_here(model):
    narrow = searched(model, SENTENCES, size=1)
    wide = searched(model, SENTENCES, size=9)
    for (one,), (other,) in zip(narrow, wide, strict=True):
        assert other.score >= one.score - 1e-12


def test_lengths_stay_within_their_bounds(model):
    for bias, expected in ((1e9, "minimum"), (-1e9, "maximum")):
        model.decoder.output.bias.data[END_ID] = bias
        limits = LengthLimits(min_ratio=0.7, max_ratio=1.5, max_extra=1)
        beams = searched(model, SENTENCES, limits=limits, num_best=1)
        lengths = torch.tensor([len(beam[0].ids) for beam in beams])
        sources = torch.tensor([len(sentence) + 1 for sentence in SENTENCES])
        assert lengths.tolist() == getattr(limits, expected)(sources).clamp(min=1).tolist()
        for beam, sentence in zip(beams, SENTENCES, strict=True):
            assert beam[0].weights.shape == (len(beam[0].ids), len(sentence) + 1)


def test_every_hypothesis_begins_with_the_forced_prefix_and_is_scored_with_it(model, penalty):
    prefixes = [[5, 6], [], [4] * 30, [10], [0, 4, 4]]
    beams = searched(model, SENTENCES, prefixes=prefixes, num_best=3, penalty=penalty)
    free = searched(model, SENTENCES, num_best=3, penalty=penalty)
    assert [h.ids for h in beams[1]] == [h.ids for h in free[1]]
    for sentence, prefix, beam in zip(SENTENCES, prefixes, beams, strict=True):
        assert beam
        for hypothesis in beam:
            assert list(hypothesis.ids[: len(prefix)]) == prefix
            assert len(hypothesis.ids) > len(prefix)
            score, weights = forced(model, sentence, hypothesis.ids)
            assert hypothesis.score == pytest.approx(score, abs=1e-9)
            torch.testing.assert_close(hypothesis.weights, weights, rtol=0, atol=1e-12)


def test_padding_and_begin_are_never_chosen(model):
    for token in (PADDING_ID, BEGIN_ID):
        model.decoder.output.bias.data[token] = 1e3
    for beam in searched(model, SENTENCES, num_best=4):
        for hypothesis in beam:
            assert not {PADDING_ID, BEGIN_ID} & set(hypothesis.ids)


def test_a_model_four_times_is_the_model(model):
    once = searched(model, SENTENCES, num_best=2)
    fourfold = searched([model] * 4, SENTENCES, num_best=2)
    for one, other in zip(once, fourfold, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        for found, expected in zip(other, one, strict=True):
            assert found.score == pytest.approx(expected.score, abs=1e-9)
            torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-12)


def test_an_ensemble_averages_probabilities_and_attention():
    members = [sharp(), sharp(score="dot")]
    members[1].decoder.output.weight.data.mul_(-0.5)
    for sentence, (found,) in zip(SENTENCES, searched(members, SENTENCES), strict=True):
        source = SourceBatch.from_sentences([sentence])
        inputs = torch.tensor([[BEGIN_ID, *found.ids[:-1]]])
        probabilities, weights = 0, 0
        for member in members:
            with torch.no_grad():
                unrolled = member(source.ids, source.lengths, source.is_token, inputs)
                probabilities += member.decoder.output(unrolled[0]).softmax(-1)[0] / 2
            weights += unrolled[1][0] / 2
        score = probabilities[torch.arange(len(found.ids)), list(found.ids)].log().sum()
        assert found.score == pytest.approx(float(score), abs=1e-9)
        torch.testing.assert_close(found.weights, weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("num_best", [0, 5])
def test_more_hypotheses_than_the_beam_are_refused(model, num_best):
    with pytest.raises(ValueError, match="best of a beam of 4: give 1 to 4"):
        searched(model, SENTENCES, num_best=num_best)
