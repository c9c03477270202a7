from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.text import SentencePair, read_lines
from seq2seq.decoding.search import LengthPenalty, Search
from seq2seq.evaluation.bleu import cased_bleu
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from tests.small import tokenizers_of


def test_penalties_divide_by_their_formulas():
    scores, lengths = torch.tensor([-6.0, -6.0]), torch.tensor([1, 7])
    assert LengthPenalty("none").apply(scores, lengths).tolist() == [-6, -6]
    assert LengthPenalty("average").apply(scores, lengths).tolist() == pytest.approx([-6, -6 / 7])
    gnmt = LengthPenalty("gnmt", 0.5).apply(scores, lengths).tolist()
    assert gnmt == pytest.approx([-6, -6 / 2**0.5])
    assert LengthPenalty("gnmt", 0.0).apply(scores, lengths).tolist() == [-6, -6]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("gmnt",), "expected one of none, average, gnmt"),
        (("gnmt", -1.0), "alpha=-1.0: expected a number from 0"),
    ],
)
def test_penalties_that_do_not_exist_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        LengthPenalty(*values)


def test_bounds_are_relative_to_the_source_and_the_least_is_never_above_the_greatest():
    lengths = torch.tensor([1, 4, 9])
    limits = LengthLimits(min_ratio=0.5, max_ratio=1.5, max_extra=2)
    assert limits.minimum(lengths).tolist() == [0, 2, 4]
    assert limits.maximum(lengths).tolist() == [3, 8, 15]
    assert LengthLimits(min_ratio=9.0).minimum(lengths).tolist() == [9, 18, 28]
    assert LengthLimits(max_ratio=0.0, max_extra=0).maximum(lengths).tolist() == [1, 1, 1]


def test_bounds_are_exact_for_every_ratio_of_two_decimals():
    lengths = torch.arange(1, 101)
    for hundredths in range(1, 300):  # 0.53 * 100 is below 53 in float32, 0.29 * 100 below 29 in float64
        found = LengthLimits(max_ratio=hundredths / 100, max_extra=0).maximum(lengths)
        assert found.tolist() == [max(1, hundredths * length // 100) for length in range(1, 101)]


@pytest.mark.parametrize("values", [{"max_ratio": float("nan")}, {"max_extra": -1}, {"max_extra": 0.5}])
def test_bounds_that_are_no_lengths_are_refused(values):
    with pytest.raises(InputError, match=r"expected a (whole )?number from 0 to 1,000,000"):
        LengthLimits(**values)


def test_bounds_follow_the_usual_ratio_of_a_training_split():
    sources, targets = np.array([4, 9], np.uint16), np.array([19, 24], np.uint16)
    assert LengthLimits.fitted(sources, targets) == LengthLimits(max_ratio=6.0, max_extra=30, max_source=10)
    assert LengthLimits.fitted(targets, sources) == LengthLimits(max_ratio=0.67, max_extra=10, max_source=25)
    assert LengthLimits.fitted(sources, sources) == replace(DEFAULT_LIMITS, max_source=10)
    of_hundred = LengthLimits.fitted(np.array([99], np.uint16), np.array([109], np.uint16))  # 2 * 1.1
    assert of_hundred == LengthLimits(max_ratio=2.2, max_extra=11, max_source=100)


def test_a_search_has_the_bound_of_the_model_unless_it_has_its_own():
    of_model = LengthLimits(max_ratio=7.0, max_extra=40)
    at_least = LengthLimits(min_ratio=0.25, max_ratio=7.0, max_extra=40)
    assert Search().limits(of_model) == of_model
    assert Search().limits(at_least) == at_least
    assert Search(max_ratio=3.0).limits(at_least) == LengthLimits(min_ratio=0.25, max_ratio=3.0)
    assert Search(min_ratio=0.5).limits(of_model) == LengthLimits(min_ratio=0.5, max_ratio=7.0, max_extra=40)
    assert Search(max_ratio=3.0).limits(of_model) == LengthLimits(max_ratio=3.0, max_extra=10)


SUBWORDS = ("unigram", "bpe")
TOKENIZERS = ["word", "basic_english", "moses", "character", "whitespace", *SUBWORDS]


@pytest.fixture
def multi30k(real_data, tmp_path):
    """By tokenizer the codecs, and the tokens of training and of validation, of both sides."""
    texts = {
        name: [read_lines(real_data / f"multi30k/{name}.{code}.gz") for code in ("en", "de")]
        for name in ("train", "val")
    }
    pairs = list(map(SentencePair, *(side[:2000] for side in texts["train"])))
    found = {}
    for name in TOKENIZERS:
        languages = ("en", "en" if name == "basic_english" else "de")
        size = {"vocab_size": 2000} if name in SUBWORDS else {}
        codecs = tokenizers_of(pairs, languages, tokenizer=name, **size)
        found[name] = [
            (codec, codec.encode_all(list(train)), codec.encode_all(list(held_out)))
            for codec, train, held_out in zip(
                codecs, zip(*((p.source, p.target) for p in pairs), strict=True), texts["val"],
                strict=True,
            )
        ]  # fmt: skip
    return found


def lengths_of(sentences):
    return np.array(list(map(len, sentences)))


def test_a_least_length_above_the_greatest_is_refused():
    with pytest.raises(InputError, match=r"at least 5 .* at most 2"):
        Search(min_ratio=5.0, max_ratio=2.0)
    with pytest.raises(InputError, match=r"at least 3 .* at most 2"):
        Search(min_ratio=3.0).limits(LengthLimits(max_ratio=2.0))
    assert Search(min_ratio=3.0).limits(LengthLimits(max_ratio=3.0)).min_ratio == 3.0


def test_references_fit_under_the_bound_of_every_pair_of_tokenizers(multi30k):
    for name, target_name in product(TOKENIZERS, repeat=2):
        _, train, sources = multi30k[name][0]
        codec, train_targets, references = multi30k[target_name][1]
        limits = LengthLimits.fitted(lengths_of(train), lengths_of(train_targets))
        greatest = limits.maximum(torch.tensor(lengths_of(sources)) + 1).tolist()
        num_over = (lengths_of(references) + 1 > greatest).sum()
        assert num_over <= 0.001 * len(references), (name, target_name)
        # who knows the references by heart says as much of them as may be said, <eos> at the end
        known = list(zip(references, greatest, strict=True))[:60]
        said = [codec.decode(reference[: bound - 1]) for reference, bound in known]
        wanted = [codec.decode(reference) for reference, _ in known]
        assert cased_bleu(said, wanted, "de") == pytest.approx(100), (name, target_name)
