import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from judged_seeds import compare as compare_by
from judged_seeds import interval_of as interval_by
from seq2seq.evaluation.bleu import bleu_of, sentence_statistics
from tests.calibration import share_significant, the_same_models

compare = partial(compare_by, score=bleu_of)
interval_of = partial(interval_by, score=bleu_of)
WORDS = ["a", "the", "cat", "dog", "sees", "on", "with", "red", "house", "they", "it", "not", "do"]


def sentences(count, seed=0):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=12)) for _ in range(count)]


def noisy(references, share, seed):
    """Translations of which a share of the words is wrong."""
    generator = random.Random(seed)
    return [
        " ".join("x" if generator.random() < share else word for word in line.split()) for line in references
    ]


def of_scores(scores, num_sentences=30):
    """Statistics of models whose every sentence has a certain BLEU."""
    rows = [[40, 40, *[40 * score / 100] * 4, *[40] * 4] for score in scores]
    return np.repeat(np.array(rows, dtype=np.float64)[:, None], num_sentences, axis=1)


def test_summed_statistics_give_sacrebleus_score_of_any_choice_of_sentences():
    references = [*sentences(30), "a", "the cat", "Yes, it is."]
    hypotheses = [*noisy(references[:30], 0.4, 1), "a", "dog x", "yes it was"]
    statistics = sentence_statistics(hypotheses, references, "en")
    generator = random.Random(2)
    for size in (1, 2, 5, 40):
        for _ in range(20):
            chosen = [generator.randrange(len(references)) for _ in range(size)]
            expected = BLEU().corpus_score([hypotheses[i] for i in chosen], [[references[i] for i in chosen]])
            assert bleu_of(statistics[chosen].sum(axis=0)) == pytest.approx(expected.score)


def test_translations_without_a_word_score_nothing():
    # a warning, that 0 is divided by 0, would be an error here
    assert bleu_of(sentence_statistics(["", ""], ["a b c d e", "f"], "en").sum(axis=0)) == 0


def test_p_of_one_seed_is_that_of_the_two_sided_paired_bootstrap():
    references = sentences(30)
    first, second = noisy(references, 0.3, 1), noisy(references, 0.25, 2)
    metric, generator = BLEU(), random.Random(3)

    def difference(chosen):
        drawn = [[each[i] for i in chosen] for each in (first, second, references)]
        return metric.corpus_score(drawn[1], [drawn[2]]).score - (
            metric.corpus_score(drawn[0], [drawn[2]]).score
        )

    found = difference(range(30))
    draws = [difference([generator.randrange(30) for _ in range(30)]) for _ in range(150)]
    center = sum(draws) / 150
    expected = sum(abs(each - center) >= abs(found) for each in draws) / 150
    comparison = compare(*(of_seeds([each], references) for each in (first, second)), 0.005)
    assert comparison.difference == pytest.approx(found)
    assert 0.05 < expected < 0.95
    assert comparison.p == pytest.approx(expected, abs=0.1)


def test_p_is_students_where_luck_with_sentences_plays_no_part():
    # two equal spreads of three seeds have 4 degrees of freedom: 97.5 % quantile 2.776445
    low = [49.0, 50.0, 51.0]
    shift = 2.776445 * (2 / 3) ** 0.5
    comparison = compare(of_scores(low), of_scores([each + shift for each in low]), 0.0005)
    assert comparison.p == pytest.approx(0.05, abs=0.005)


def test_p_of_the_same_models_is_students_of_their_differences():
    # of 2 degrees of freedom p is 1 - t / sqrt(t^2 + 2)
    low, more = [40.0, 50.0, 60.0], [1.0, 2.0, 3.0]
    high = [one + other for one, other in zip(low, more, strict=True)]
    comparison = compare(of_scores(low), of_scores(high), 0.0005, paired=True)
    t = 2 / (1 / 3) ** 0.5
    assert comparison.difference == pytest.approx(2)
    assert comparison.p == pytest.approx(1 - t / (t**2 + 2) ** 0.5, abs=0.005)
    assert compare(of_scores(low), of_scores(high), 0.0005).p > 0.7


def test_the_same_models_differ_by_luck_seldom_and_by_a_gain_often():
    # at 0.05, 9 of 120 are two standard errors above; their quality would hide the gain
    assert share_significant(120, 3, 100, quality=3.0, of=the_same_models) <= 0.09
    assert share_significant(60, 3, 100, quality=3.0, gain=4, of=the_same_models) > 0.5
    assert share_significant(60, 3, 100, 0.8, quality=3.0, gain=4) < 0.3


def test_models_that_are_paired_are_as_many():
    with pytest.raises(ValueError, match="broadcast"):
        compare(of_scores([50.0, 51.0]), of_scores([50.0, 51.0, 52.0]), 0.05, paired=True)


def test_seeds_that_differ_only_by_luck_with_sentences_do_not_count_it_twice():
    generator = np.random.default_rng(0)
    rows = np.round(generator.uniform(0, 40, size=(2, 4, 400)))
    statistics = of_scores([50.0] * 4, 400)
    first, second = (np.array(statistics) for _ in rows)
    first[..., 2:6], second[..., 2:6] = rows[0][..., None], rows[1][..., None]
    gap = bleu_of(second.sum(axis=1)).mean() - bleu_of(first.sum(axis=1)).mean()
    spread = [bleu_of(each.sum(axis=1)).var(ddof=1) / 4 for each in (first, second)]
    # only the t of the seeds is left, twice the variance would give another p
    t = abs(gap) / sum(spread) ** 0.5
    draws = generator.standard_t(sum(spread) ** 2 / sum(v**2 / 3 for v in spread), size=100_000)
    expected = np.mean(np.abs(draws) >= t)
    assert compare(first, second, 0.001).p == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("num_seeds", "share", "quality"), [(1, 0.5, 0.0), (3, 1.0, 0.0), (3, 0.5, 0.0), (3, 0.0, 3.0)]
)
def test_what_does_not_differ_is_seldom_called_significant(num_seeds, share, quality):
    # at 0.05, 9 of 120 are two standard errors above; tests.calibration does it a thousand times
    assert share_significant(120, num_seeds, 100, share, quality) <= 0.09


def of_seeds(translations, references):
    return np.stack([sentence_statistics(each, references, "en") for each in translations])


def test_a_clear_difference_is_significant_and_has_its_sign():
    references = sentences(100)
    good = of_seeds([noisy(references, 0.05, seed) for seed in range(3)], references)
    bad = of_seeds([noisy(references, 0.3, seed) for seed in range(3, 6)], references)
    for first, second, sign in ((bad, good, 1), (good, bad, -1)):
        comparison = compare(first, second, 0.05)
        assert comparison.difference * sign > 10
        assert comparison.p < 0.05
        assert comparison.knows_seeds


def test_every_seed_counts_also_where_one_setting_has_more():
    few, many = of_scores([50.0, 51.0]), of_scores([50.0, 51.0, 80.0])
    assert compare(few, many, 0.05).difference == pytest.approx(181 / 3 - 50.5)
    assert compare(few, of_scores([50.0, 51.0]), 0.05).p == 1.0


def test_the_same_translations_do_not_differ():
    references = sentences(20)
    same = of_seeds([noisy(references, 0.2, 1)], references)
    comparison = compare(same, same, 0.05)
    assert (comparison.difference, comparison.p) == (0.0, 1.0)
    assert not comparison.knows_seeds


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(2, 12), st.integers(0, 2**16))
def test_settings_may_change_places(num_first, num_second, num_sentences, seed):
    generator = np.random.default_rng(seed)
    totals = generator.integers(4, 30, (num_first + num_second, num_sentences, 4)).astype(float)
    found = np.floor(totals * generator.random(totals.shape))
    lengths = np.repeat(totals[..., :1] + 3, 2, axis=-1)
    statistics = np.concatenate([lengths, found, totals], axis=-1)
    first, second = statistics[:num_first], statistics[num_first:]
    one, other = compare(first, second, 0.05), compare(second, first, 0.05)
    assert one.difference == pytest.approx(-other.difference, abs=1e-9)
    assert one.p == pytest.approx(other.p, abs=0.05)
    assert 0 < one.p <= 1
    assert one.interval[0] <= one.interval[1]
    assert one.knows_seeds == (min(num_first, num_second) > 1)


def test_p_is_never_zero_however_great_the_difference():
    draws = 1000
    assert compare(of_scores([20.0]), of_scores([60.0]), 0.05).p == pytest.approx(1 / (draws + 1))


def test_significance_stays_possible_however_many_comparisons_share_the_level():
    level = 0.05 / 200
    assert compare(of_scores([20.0]), of_scores([60.0]), level).p < level


def test_the_interval_of_one_model_is_that_of_sacrebleus_bootstrap():
    references = sentences(200)
    hypotheses = noisy(references, 0.3, 1)
    statistics = sentence_statistics(hypotheses, references, "en")
    low, high = interval_of(statistics, 0.05)
    assert interval_of(statistics, 0.05) == (low, high)
    expected = BLEU().corpus_score(hypotheses, [references], n_bootstrap=1000)
    assert low < expected.score < high
    assert (low + high) / 2 == pytest.approx(expected._mean, abs=0.2 * expected._ci)
    assert (high - low) / 2 == pytest.approx(expected._ci, rel=0.15)
    low, high = interval_of(statistics, 0.5)  # 1.96 and 0.674 deviations: 95 and 50 % of draws
    assert (high - low) / 2 == pytest.approx(expected._ci * 0.674 / 1.96, rel=0.15)
    assert interval_of(sentence_statistics(references, references, "en"), 0.05) == (100, 100)


def test_other_references_are_refused():
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        sentence_statistics(["a"], ["a", "b"], "en")
