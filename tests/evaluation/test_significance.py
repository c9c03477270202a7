import random

import pytest

from seq2seq.evaluation.significance import compare, welch

WORDS = ["a", "the", "cat", "dog", "sees", "on", "with", "red", "house", "they", "it", "not", "do"]


def sentences(count, seed=0):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=12)) for _ in range(count)]


def noisy(references, share, seed):
    """Translations of which a share of the words is wrong."""
    generator = random.Random(seed)
    return [
        " ".join("x" if generator.random() < share else word for word in line.split())
        for line in references
    ]


def test_a_clear_difference_is_significant_and_has_its_sign():
    references = sentences(100)
    good = [noisy(references, 0.05, seed) for seed in range(3)]
    bad = [noisy(references, 0.3, seed) for seed in range(3, 6)]
    comparison = compare(bad, good, references)
    assert comparison.difference > 10
    assert comparison.p < 0.05
    assert comparison.words(0.05).startswith("significant")


def test_noise_of_the_seeds_is_not_significant_even_where_sentences_say_so():
    references = sentences(200)
    first = [noisy(references, share, seed) for seed, share in enumerate([0.05, 0.25, 0.2])]
    second = [noisy(references, share, 9 + seed) for seed, share in enumerate([0.05, 0.1, 0.28])]
    comparison = compare(first, second, references)
    assert comparison.p_sentences < 0.05 < comparison.p_seeds
    assert comparison.words(0.05).startswith("not significant")


def test_the_same_translations_do_not_differ():
    references = sentences(20)
    same = [noisy(references, 0.2, 1)]
    comparison = compare(same, same, references)
    assert (comparison.difference, comparison.p) == (0.0, 1.0)
    assert comparison.words(0.05) == "not significant (p = 1.000, one seed)"


def test_welchs_test_gives_the_p_of_the_textbook():
    # t = 1 and 1 degree of freedom each: the Cauchy tail; then the 97.5 % quantiles of Student's t
    assert welch([0.0, 2.0], [0.0, 2.0]) == pytest.approx(1.0)
    for size, quantile in [(2, 4.302653), (3, 2.776445), (6, 2.228139)]:
        low = [(-1.0) ** i for i in range(size)] if size % 2 == 0 else [-1.0, 0.0, 1.0]
        centre = sum(low) / size
        variance = sum((x - centre) ** 2 for x in low) / (size - 1) / size
        shift = quantile * (2 * variance) ** 0.5
        assert welch(low, [x + shift for x in low]) == pytest.approx(0.05, rel=1e-4)


def test_seeds_without_any_spread_are_certain_and_one_seed_knows_nothing():
    assert welch([1.0, 1.0], [2.0, 2.0]) == 0.0
    assert welch([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert welch([1.0], [2.0, 3.0]) is None


def test_other_references_are_refused():
    with pytest.raises(ValueError, match="differ in number"):
        compare([["a"]], [["a", "b"]], ["a", "b"])
    with pytest.raises(ValueError, match="nothing to compare"):
        compare([], [["a"]], ["a"])
