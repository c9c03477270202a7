import math
import statistics

import numpy as np
import pytest
from scipy.stats import kendalltau

from seq2seq.studies.attention_statistics import UNATTENDED, AttentionStatistics, alarms, attention_statistics
from seq2seq.studies.faithfulness import effect_statistics

SOURCE_LENGTHS, TARGET_LENGTHS = [5, 3, 7], [4, 6, 2]


def random_batch(seed=0):
    generator = np.random.default_rng(seed)
    weights = generator.random((3, 6, 7)) ** 6
    weights *= np.arange(7) < np.array(SOURCE_LENGTHS)[:, None, None]
    return weights / weights.sum(axis=2, keepdims=True)


def measured(matrix, source_length=None, target_length=None):
    matrix = np.asarray(matrix)
    lengths = [source_length or matrix.shape[1]], [target_length or matrix.shape[0]]
    return attention_statistics(matrix[None], *lengths).metrics()


def test_the_identity_is_sharp_covers_all_and_is_monotonic():
    assert measured(np.eye(4)) == {
        "entropy": 0,
        "padding_mass": 0,
        "eos_mass": 0,
        "peak": 1,
        "diagonality": 1,
        "column_mass": 0,
        "row_overlap": 0,
        "unattended": 0,
        "monotonicity": 1,
    }


def test_a_row_that_attends_to_nothing_is_sharp_and_goes_nowhere():
    # three words and <eos>; a hard attention that has left the source after two words
    found = measured([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert found["monotonicity"] == 1
    assert found["entropy"] == found["eos_mass"] == 0
    assert found["peak"] == pytest.approx(2 / 3)


def test_entropy_is_measured_against_the_source_length():
    # two of four tokens: log 2 / log 4
    assert measured([[0.5, 0.5, 0, 0], [0, 0, 0, 1]])["entropy"] == pytest.approx(0.5)
    # a row of 0.5, 0.25, 0.25 among three
    expected = 1.5 * math.log(2) / math.log(3)
    assert measured([[0.5, 0.25, 0.25], [1, 0, 0]])["entropy"] == pytest.approx(expected)


def test_a_column_below_the_bound_is_unattended():
    # three source words and <eos>, two target words and <eos>
    just_below = UNATTENDED / 2 - 1e-6
    matrix = [[1 - just_below, just_below, 0, 0], [1 - just_below, just_below, 0, 0], [0, 0, 1, 0]]
    assert measured(matrix)["unattended"] == pytest.approx(2 / 3)
    above = UNATTENDED / 2 + 1e-6
    matrix[0][:2] = matrix[1][:2] = [1 - above, above]
    assert measured(matrix)["unattended"] == pytest.approx(1 / 3)


def test_the_rows_of_the_end_do_not_count():
    matrix = np.eye(3)
    matrix[2] = [0.4, 0.3, 0.3]
    assert measured(matrix) == measured(np.eye(3))


@pytest.mark.parametrize(
    ("positions", "expected"), [([0, 1, 1, 2], 1), ([2, 1, 0], 0), ([0, 2, 1], 0.5), ([1], 1)]
)
def test_monotonicity_is_the_share_of_steps_that_do_not_go_back(positions, expected):
    weights = np.eye(4)[[*positions, 3]]
    assert measured(weights)["monotonicity"] == expected


def test_mass_on_the_end_and_on_padding_is_found():
    weights = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0, 0, 1]]
    found = measured(weights, source_length=2)
    assert found["padding_mass"] == 0.125
    assert found["eos_mass"] == 0.625


def test_a_copied_row_a_stripe_and_the_other_diagonal_are_told_apart():
    row = [0.1, 0.2, 0.7, 0.0, 0.0]
    copied = measured([row] * 4)
    assert copied["row_overlap"] == pytest.approx(1)
    assert copied["column_mass"] == pytest.approx((3 * 0.7 - 1) / 2)
    assert measured(np.eye(5)[[1, 1, 1, 0]])["column_mass"] == 1
    # the last of three words and <eos> of the target: 0, 1 1/3, 2 2/3 are the diagonal
    backwards = measured(np.eye(5)[[4, 3, 1, 0]])
    assert backwards["row_overlap"] == 0
    distances = [4 / 4, (3 - 4 / 3) / (8 / 3), (8 / 3 - 1) / (8 / 3)]
    assert backwards["diagonality"] == pytest.approx(1 - np.mean(distances))
    assert measured(np.eye(5)[[4, 4, 4, 4]])["column_mass"] == 0  # <eos> is no word


def test_padding_changes_nothing():
    weights = random_batch()
    wide = np.pad(weights, ((0, 0), (0, 5), (0, 3)))
    wide[:, 6:] = 0.7  # whatever stands on padded rows
    expected = attention_statistics(weights, SOURCE_LENGTHS, TARGET_LENGTHS)
    found = attention_statistics(wide, SOURCE_LENGTHS, TARGET_LENGTHS)
    assert found.metrics() == pytest.approx(expected.metrics(), abs=1e-12)
    assert found.metrics()["padding_mass"] == 0


def test_batch_size_changes_nothing():
    weights = random_batch()
    together = attention_statistics(weights, SOURCE_LENGTHS, TARGET_LENGTHS)
    alone = AttentionStatistics()
    for matrix, source, target in zip(weights, SOURCE_LENGTHS, TARGET_LENGTHS, strict=True):
        alone += attention_statistics(matrix[None, :target, :source], [source], [target])
    assert alone.metrics() == pytest.approx(together.metrics(), abs=1e-12)
    assert (alone.num_tokens, alone.num_source_tokens) == (9, 12)


SHARP = np.eye(5) * 0.9 + 0.02
STRIPE, END = np.eye(5)[[1, 1, 1, 1, 4]], np.eye(5)[[4, 0, 4, 4, 4]]
SCATTERED = np.eye(5)[[0, 4, 1, 1, 4]]  # one-hot, as by a huge rate


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (SHARP, []),
        (SHARP[::-1], []),
        (SCATTERED, []),
        (np.full((5, 5), 0.2), ["not_formed"]),
        (STRIPE, ["column"]),
        (END, ["eos"]),
        (np.full((5, 5), 0.1) + np.diag([0.5] * 5)[2], ["copied_row"]),
    ],
)
def test_alarms_of_healthy_and_broken_attention(weights, expected):
    metrics = measured(weights)
    assert [*alarms(metrics)] == expected
    assert not alarms(metrics, is_late=False)
    # without a mask, half of the weights on padding
    wide = np.concatenate([weights / 2, weights / 2], axis=1)
    assert next(iter(alarms(measured(wide, source_length=5), is_late=False))) == "padding"


def test_agreement_of_weights_and_effects_is_what_a_loop_finds():
    draw = np.random.default_rng(1)
    weights = [draw.random(shape) for shape in ((4, 3), (2, 5), (1, 4), (3, 2))]
    effects = [draw.normal(size=each.shape) for each in weights]
    taus = []
    for weight, effect in zip(weights, effects, strict=True):
        for one, other in zip(weight[:-1].tolist(), effect[:-1].tolist(), strict=True):  # without <eos>
            if len(one) > 2:
                taus.append(kendalltau(one[:-1], other[:-1]).statistic)
    assert effect_statistics(weights, effects) == pytest.approx({"effect_tau": statistics.mean(taus)})
    assert effect_statistics([np.ones((1, 3))], [np.ones((1, 3))]) == {}
    assert effect_statistics([np.ones((2, 2))], [np.ones((2, 2))]) == {}
