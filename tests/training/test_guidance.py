"""The guidance of attention, held to sums over loops in float64."""

import math

import pytest
import torch

from seq2seq.model.decoder import unroll
from seq2seq.text.batch import Batch
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import encode_split
from seq2seq.training.guidance import Guidance, guidance_sums
from seq2seq.training.loss import token_cross_entropy
from tests.models import model_of
from tests.tiny import codecs_of

PAIRS = [
    SentencePair("a dog sees cats", "un chien voit", ((0, 0), (1, 1), (2, 1), (3, 1)), ((2, 1),)),
    SentencePair("cats sleep", "des chats dorment ici", ((0, 0), (0, 1), (1, 2)), ((0, 0),)),
    SentencePair("a dog", "un chien"),
    SentencePair("dog cats", "chien chats", ()),
]
SHARES = [
    {(0, 0): 1.0, (1, 1): 0.5, (1, 3): 0.5},  # the sure ones, not the possible one beside them
    {(0, 0): 1.0, (1, 0): 1.0, (2, 1): 1.0},  # a possible one where there is no other
    {},
    {},
]


@pytest.fixture
def words(tmp_path):
    codecs = codecs_of(PAIRS, tmp_path)
    return codecs, encode_split(PAIRS, codecs, max_length=None, truncate=False)


def loss_by_loops(weights, shares):
    """Sum and count over target tokens, from {(target, source): share} of each sentence."""
    total, guided = 0.0, 0
    for matrix, of_pair in zip(weights, shares, strict=True):
        for row in {row for row, _ in of_pair}:
            guided += 1
            for (other, column), share in of_pair.items():
                if other == row:
                    total -= share * math.log(matrix[row][column])
    return total, guided


def test_the_loss_is_the_cross_entropy_of_the_linked_tokens_the_sure_links_first(words):
    codecs, split = words
    guidance, batch = Guidance(1.0, split, *codecs), Batch.from_split(split, [0, 1, 2, 3])
    shape = *batch.target_output.shape, batch.source.ids.shape[1]
    weights = torch.rand(shape, dtype=torch.float64).softmax(dim=2)
    total, guided = guidance_sums(weights, guidance.wanted(batch).double())
    expected, count = loss_by_loops(weights.tolist(), SHARES)
    assert float(total) == pytest.approx(expected, rel=1e-12)
    assert int(guided) == count == 5


def test_the_mass_of_a_word_is_spread_over_its_subwords(tmp_path):
    texts = [SentencePair("abcd", "wxyz vu"), SentencePair("ab cd", "wx yz")] * 20
    texts[0] = SentencePair("abcd ab", "wxyz vu", ((0, 0), (1, 0)))
    codecs = codecs_of(texts, tmp_path, tokenizer="character")
    split = encode_split(texts, codecs, max_length=5, truncate=True)
    wanted = Guidance(1.0, split, *codecs).wanted(Batch.from_split(split, [0]))[0]
    # the fifth letter that is left of the source is the space, which begins the next word
    assert wanted.shape == (6, 6)
    torch.testing.assert_close(wanted[:4, :5], torch.full((4, 5), 0.2))
    assert wanted.sum() == 4


@pytest.mark.parametrize("changes", [{}, {"query": "state_and_token"}, {"score": "dot"}])
def test_the_fast_way_has_the_gradient_of_the_definition(words, changes):
    codecs, split = words
    sizes = {
        f"{side}_vocabulary_size": len(codec.vocabulary)
        for side, codec in zip(("source", "target"), codecs, strict=True)
    }
    model, batch = model_of(**sizes, **changes), Batch.from_split(split, [0, 1, 2])
    guidance, parameters = Guidance(0.7, split, *codecs), list(model.parameters())

    def gradients(unrolled):
        sums = token_cross_entropy(
            unrolled.features, model.decoder.output, batch.target_output, batch.target_is_token,
            label_smoothing=0.0,
        )  # fmt: skip
        loss, guided = guidance_sums(unrolled.weights, guidance.wanted(batch).double())
        together = guidance.added(sums, unrolled.weights, batch)
        torch.testing.assert_close(together.smoothed, sums.smoothed + 0.7 * loss)
        assert together.metrics()["guidance"] == loss / guided
        return torch.autograd.grad(together.smoothed, parameters, allow_unused=True)

    source = batch.source
    fast = gradients(
        model(source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths)
    )
    memory = model.encode(source.ids, source.lengths, source.is_token)
    plain = gradients(unroll(model.decoder, batch.target_input, memory, batch.target_lengths))
    for found, expected in zip(fast, plain, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_a_weight_of_zero_has_a_finite_loss_and_no_gradient():
    weights = torch.tensor([[[1.0, 0.0]]], requires_grad=True)
    loss, _ = guidance_sums(weights, torch.tensor([[[0.5, 0.5]]]))
    (gradient,) = torch.autograd.grad(loss, weights)
    assert loss.isfinite()
    assert gradient.tolist() == [[[-0.5, 0.0]]]
