"""The formulas of docs/concepts: where each is computed independently, and those that no other test computes."""

import math
import random
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch

from joined_words import AlignmentCounts, GoldAlignment
from seq2seq.decoding.search import LengthPenalty
from seq2seq.evaluation import scores_of
from seq2seq.models.limits import LengthLimits
from tests.conftest import ROOT

ATTENTIONS = "oracles/test_attentions.py::test_every_attention_is_its_formula_with_every_gradient"
DECODERS = "oracles/test_models.py::test_every_decoder_cell_and_score_is_its_formula_with_every_gradient"
COMPUTED = {
    "faithfulness.md: The effect of a source token": (
        "decoding/test_effect.py::test_the_effect_of_a_source_token_is_what_a_loop_without_it_finds"
    ),
    "alignment.md: Gold alignments": "test_formulas.py::test_precision_recall_and_aer",
    "alignment.md: Guided alignment": (
        "training/test_guidance.py::test_the_loss_is_the_cross_entropy_of_the_linked_tokens_the_sure_links_first"
    ),
    "attention.md: Scores": "attention/test_scores.py::test_every_score_is_its_formula_pair_by_pair",
    "attention.md: Coverage": ATTENTIONS,
    "attention.md: Local": ATTENTIONS,
    "attention.md: Monotonic": ATTENTIONS,
    "attention.md: Sparsemax": "attention/test_normalizers.py::test_no_other_weights_are_nearer_to_the_scores",
    "attention.md: Several heads": ATTENTIONS,
    "models.md: Models": DECODERS,
    "models.md: bahdanau": DECODERS,
    "models.md: conditional": DECODERS,
    "models.md: luong": DECODERS,
    "models.md: context": DECODERS,
    "models.md: plain": DECODERS,
    "models.md: transformer": DECODERS,
    "models.md: Objectives": "training/test_minimum_risk.py::test_value_and_gradient_are_those_of_enumeration",
    "search.md: Beam search": "test_formulas.py::test_length_penalties_and_limits",
    "search.md: Length limits": "test_formulas.py::test_length_penalties_and_limits",
    "training.md: The loss": "training/test_loss.py::test_sums_equal_torchs_own_cross_entropy",
    "training.md: The gradient of a step": (
        "training/test_step_gradient.py::test_the_gradient_of_unequal_batches_is_that_of_their_union"
    ),
    "training.md: The learning rate": (
        "training/test_schedules.py::test_each_step_has_the_rate_of_the_formula_also_in_a_run_that_continues"
    ),
    "training.md: The average of the weights": "training/test_schedules.py::test_the_average_of_weights_is_its_formula",
}
FORMULA = re.compile(r"\$\$|\$[^$\n]*(?:=|\\propto|\\frac|\\sum|\\log|\\lfloor|\^\\alpha|\\top)[^$\n]*\$")


def test_every_formula_names_the_test_that_computes_it():
    sections = set()
    for page in sorted((ROOT / "docs/concepts").glob("*.md")):
        for section in re.split(r"^(?=#+ )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if FORMULA.search(re.sub(r"```.*?```", "", section, flags=re.DOTALL)):
                sections.add(f"{page.name}: {section.splitlines()[0].lstrip('# ')}")
    assert sections == COMPUTED.keys()
    for place in COMPUTED.values():
        file, _, name = place.partition("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), place


@pytest.mark.parametrize("seed", range(5))
def test_precision_recall_and_aer(seed):
    draw = random.Random(seed)
    cells = [(i, j) for i in range(4) for j in range(4)]
    found, possible = {*draw.sample(cells, 6)}, {*draw.sample(cells, 8)}
    sure = {*draw.sample(sorted(possible), 5)}
    counts = AlignmentCounts.of(
        frozenset(found), GoldAlignment.from_links(sorted(possible), sorted(possible - sure))
    )
    in_possible, in_sure = (sum(link in links for link in found) for links in (possible, sure))
    expected = {"precision": in_possible / 6, "recall": in_sure / 5, "aer": 1 - (in_sure + in_possible) / 11}
    assert counts.metrics() == pytest.approx(expected, rel=1e-12)


def test_length_penalties_and_limits():
    """search.md: the divisors of both penalties, the limits of a search, and those that follow from a training split."""
    draw = random.Random(1)
    for _ in range(200):
        length, score, alpha = draw.randint(1, 90), -draw.random() * 50, draw.random() * 2
        for name, divisor in ("none", 1), ("average", length), ("gnmt", ((5 + length) / 6) ** alpha):
            ranked = LengthPenalty(name, alpha).apply(torch.tensor([score]).double(), torch.tensor([length]))
            assert float(ranked) == pytest.approx(score / divisor, rel=1e-6)
        f, r, e, size = (Fraction(draw.randint(0, 400), 100), Fraction(draw.randint(0, 90), 100), draw.randint(1, 30),
                         draw.randint(1, 200))  # fmt: skip
        limits = LengthLimits(min_ratio=float(r), max_ratio=float(f), max_extra=e)
        most = math.floor(f * size) + e
        assert limits.maximum(torch.tensor([size])).item() == most
        assert limits.minimum(torch.tensor([size])).item() == min(math.floor(r * size), most)
        sides = [np.array([draw.randint(1, 60) for _ in range(5)]) for _ in range(2)]
        rho = Fraction(int(sides[1].sum()) + 5, int(sides[0].sum()) + 5)  # with <eos>
        fitted = LengthLimits.fitted(*sides)
        assert fitted.max_ratio == float(Fraction(math.ceil(200 * rho), 100))
        assert fitted.max_extra == max(10, math.ceil(10 * rho))


def test_scores_that_count_words():
    """metrics.md: `repetition`, `omission`, `exact_match`, which no library computes."""
    draw = random.Random(1)
    said, wanted = (
        [" ".join(draw.choices("abcd", k=draw.randint(1, 7))) for _ in range(30)] for _ in range(2)
    )
    again = left_out = 0
    for one, other in zip(map(str.split, said), map(str.split, wanted), strict=True):
        numbers, theirs = Counter(one), Counter(other)
        again += sum(max(0, n - max(1, theirs[word])) for word, n in numbers.items())
        left_out += sum(max(0, n - numbers[word]) for word, n in theirs.items())
    num_said, num_wanted = (sum(len(text.split()) for text in texts) for texts in (said, wanted))
    found = scores_of(said, wanted, "en")
    assert found["repetition"] == pytest.approx(100 * again / num_said)
    assert found["omission"] == pytest.approx(100 * left_out / num_wanted)
    assert found["exact_match"] == pytest.approx(100 * sum(map(str.__eq__, said, wanted)) / 30)
    beyond = scores_of(["a b c d e f g h i"], ["a"], "en")
    assert beyond["ter"] == 800  # above 100
