"""Searches against the oracle: tokens, scores and attention of every hypothesis."""

import random
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data.batch import SourceBatch
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import LengthPenalty, beam_search
from seq2seq.models.limits import LengthLimits
from tests.oracles.cases import model_of, oracle_of, spec_of
from tests.oracles.search import END, Rules, beam, forced


def sharp_model(draw, spec):
    """A model whose translations end at different lengths, and do not tie."""
    model = model_of(draw, spec).eval()
    model.decoder.output.weight.data.mul_(draw.choice([2, 6]))
    model.decoder.output.bias.data[END] += draw.choice([0, 1, 2])
    return model


def rules_of(draw, vocabulary_size):
    """What a search may be asked for."""
    size = draw.choice([2, 3, 5])
    return Rules(
        size=size,
        num_best=draw.randint(1, size),
        penalty=draw.choice(["none", "average", "average", "gnmt"]),
        alpha=draw.choice([0.0, 0.6, 2.0]),
        min_ratio=draw.choice([0.0, 0.0, 0.7]),
        max_ratio=draw.choice([0.5, 1.5]),
        max_extra=draw.choice([0, 3]),
        prefix=[draw.randrange(4, vocabulary_size) for _ in range(draw.choice([0, 0, 2]))],
    )


def search_case(seed):
    """Members of an ensemble, their oracles, sentences and rules."""
    draw = random.Random(seed)
    spec = spec_of(draw)
    models = [sharp_model(draw, spec) for _ in range(draw.choice([1, 1, 2]))]
    oracles = [oracle_of(spec, model)[0] for model in models]
    lengths = [draw.randint(0, 3) for _ in range(draw.randint(1, 3))]
    sentences = [[draw.randrange(4, spec.source_vocab_size) for _ in range(n)] for n in lengths]
    return models, oracles, sentences, rules_of(draw, spec.target_vocab_size)


def found_by(models, sentences, rules):
    """The project's own hypotheses."""
    factors = {"min_ratio": rules.min_ratio, "max_ratio": rules.max_ratio}
    return beam_search(
        models,
        SourceBatch.from_sentences(sentences),
        size=rules.size,
        num_best=rules.num_best,
        penalty=LengthPenalty(rules.penalty, rules.alpha),
        limits=LengthLimits(**factors, max_extra=rules.max_extra),
        prefixes=[rules.prefix] * len(sentences),
    )


def assert_is(found, expected, tolerance):
    """Of two hypotheses."""
    assert found.ids == expected.ids
    assert found.score == pytest.approx(expected.score, abs=tolerance, rel=tolerance)
    weights = torch.stack(expected.weights)
    torch.testing.assert_close(found.weights.cpu().double(), weights, rtol=0, atol=tolerance)


@pytest.mark.parametrize("seed", [*range(28), 137, 225, 250])  # in the last three a hypothesis overtakes late
def test_a_beam_is_the_oracles_which_never_leaves_early(seed):
    models, oracles, sentences, rules = search_case(seed)
    for sentence, hypotheses in zip(sentences, found_by(models, sentences, rules), strict=True):
        best = beam(oracles, [*sentence, END], rules)
        assert len(hypotheses) == len(best)
        for found, expected in zip(hypotheses, best, strict=True):
            assert_is(found, expected, 1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_float32_finds_the_same(seed):
    models, oracles, sentences, rules = search_case(seed)
    hypotheses = found_by([model.float() for model in models], sentences, rules)
    for sentence, (found, *_) in zip(sentences, hypotheses, strict=True):
        assert_is(found, beam(oracles, [*sentence, END], rules)[0], 1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_what_bfloat16_finds_has_the_score_that_it_says(seed):
    models, oracles, sentences, rules = search_case(seed)
    models = [model.float() for model in models]
    with torch.autocast("cpu", torch.bfloat16):
        hypotheses = found_by(models, sentences, rules)
    for sentence, (found, *_) in zip(sentences, hypotheses, strict=True):
        expected = forced(oracles, [*sentence, END], found.ids)
        assert_is(found, expected, 0.1)


@pytest.mark.parametrize("seed", range(12))
def test_greedy_search_is_the_oracles_beam_of_one(seed):
    models, oracles, sentences, _ = search_case(seed)
    limits = LengthLimits(max_ratio=1.0, max_extra=3)
    sources = SourceBatch.from_sentences(sentences)
    found = greedy_search(models, sources, limits=limits)
    for sentence, hypothesis in zip(sentences, found, strict=True):
        (expected,) = beam(oracles, [*sentence, END], Rules(size=1))
        assert_is(hypothesis, expected, 1e-10)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**16), st.sampled_from(["none", "average", "gnmt"]), st.integers(1, 4), st.integers(1, 6)
)
def test_a_beam_as_wide_as_the_tree_finds_the_best_of_all_translations(seed, penalty, longest, size):
    draw = random.Random(seed)
    model = sharp_model(draw, replace(spec_of(draw), source_vocab_size=6, target_vocab_size=6))
    sentence, words = [draw.choice([4, 5]) for _ in range(draw.randint(0, 3))], (0, 4, 5)
    every = [(*ids, END) for length in range(longest) for ids in product(words, repeat=length)]
    every += product(words, repeat=longest)
    rows = torch.tensor([[2, *ids, *[END] * longest][: longest + 1] for ids in every])
    source = SourceBatch.from_sentences([sentence] * len(every))
    with torch.no_grad():
        features, _ = model.decoder(rows[:, :-1], model.encode(source))
        logs = model.decoder.output(features).log_softmax(-1).gather(2, rows[:, 1:, None])[..., 0].tolist()
    scores = {ids: sum(log[: len(ids)]) for ids, log in zip(every, logs, strict=True)}
    rules = Rules(
        size=len(every), num_best=min(3, len(every)), penalty=penalty, max_ratio=0.0, max_extra=longest
    )
    ranks = {ids: rules.rank(score, len(ids)) for ids, score in scores.items()}
    (found,) = found_by([model], [sentence], rules)
    assert [each.ids for each in found] == sorted(ranks, key=ranks.get, reverse=True)[: len(found)]
    (narrow,) = found_by([model], [sentence], replace(rules, size=size, num_best=size))
    for each in (*found, *narrow):
        assert each.score == pytest.approx(scores[each.ids], abs=1e-9)
        assert ranks[each.ids] <= ranks[found[0].ids]
