import random

import numpy as np
import pytest
import sacrebleu

from seq2seq.evaluation.significance import statistics_of
from seq2seq.sweeps.by_length import by_length
from seq2seq.sweeps.comparison_pictures import series_by_length

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


@pytest.fixture
def texts():
    """Sources of 1 to 40 words; references; what two seeds say, long sentences worse."""
    draw = random.Random(1)
    sources = [" ".join(draw.choices(WORDS, k=draw.randint(1, 40))) for _ in range(200)]
    references = [f"{source} ." for source in sources]
    said = [
        [
            " ".join(w for w in reference.split() if draw.random() > 0.01 * len(reference.split()))
            for reference in references
        ]
        for _ in range(2)
    ]
    return sources, references, said


def test_a_class_has_the_bleu_of_its_sentences_and_every_sentence_a_class(texts):
    sources, references, said = texts
    found = by_length(sources, {"a": statistics_of(said, references, "en")})
    assert len(found.titles) == 5
    num_seen = 0
    for place, title in enumerate(found.titles):
        low, high = (int(word) for word in title.split() if word.isdigit())
        chosen = [n for n, source in enumerate(sources) if low <= len(source.split()) <= high]
        num_seen += len(chosen)
        assert found.lengths[place] == pytest.approx(
            np.mean([len(sources[n].split()) for n in chosen])
        )
        for seed in range(2):
            expected = sacrebleu.corpus_bleu(
                [said[seed][n] for n in chosen], [[references[n] for n in chosen]]
            )
            assert found.scores["a"][seed, place] == pytest.approx(expected.score)
    assert num_seen == 200


def test_the_rows_have_mean_and_deviation_of_the_seeds(texts):
    sources, references, said = texts
    found = by_length(sources, {"a": statistics_of(said, references, "en")})
    (row,) = found.rows()
    last = found.scores["a"][:, -1]
    assert row["group"] == "a"
    assert row[found.titles[-1]] == f"{last.mean():.2f} ± {last.std(ddof=1):.2f}"
    line = series_by_length(found)[0]
    np.testing.assert_allclose(line.y, found.scores["a"].mean(axis=0))


def test_sentences_of_one_length_are_one_class():
    statistics = statistics_of([["a b c d"] * 3], ["a b c d"] * 3, "en")
    found = by_length(["x y"] * 3, {"a": statistics})
    assert (found.titles, found.scores["a"].tolist()) == (["2 to 2 words"], [[pytest.approx(100)]])
