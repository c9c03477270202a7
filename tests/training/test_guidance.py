"""The loss of guided attention, held to sums over loops in float64, and words that are left out."""

import math
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus, SentencePair
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.tokenizers import SentencePieceTokenizer, WhitespaceTokenizer
from seq2seq.data.vocabulary import UNKNOWN_ID
from seq2seq.training.gold_pairs import GoldPairs
from seq2seq.training.losses import LossSums
from seq2seq.training.objectives.guided_alignment import GuidedAlignment
from seq2seq.training.objectives.objective import ObjectiveWithOptions, drop_words
from tests.small import model_of

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


def guidance_of(pairs, **options):
    data = PairsCorpus(train=pairs, validation=pairs, batch_size=8, **options)
    return GuidedAlignment(GoldPairs.of(data.prepared, "train")), data.prepared.train


def test_the_loss_is_the_cross_entropy_of_the_linked_tokens_the_sure_links_first():
    guidance, split = guidance_of(PAIRS)
    batch = Batch.from_split(split, [0, 1, 2, 3])
    shape = *batch.target_output.shape, batch.source.ids.shape[1]
    weights = torch.rand(shape, dtype=torch.float64).softmax(dim=2)
    expected = -sum(
        share * math.log(matrix[row][column])
        for matrix, of_pair in zip(weights.tolist(), SHARES, strict=True)
        for (row, column), share in of_pair.items()
    )
    assert float(guidance.loss(weights, batch)) == pytest.approx(expected, rel=1e-12)


def test_the_mass_of_a_word_is_spread_over_its_tokens_and_cut_tokens_have_none():
    from seq2seq.data import CharacterTokenizer

    texts = [SentencePair("abcd", "wxyz vu"), SentencePair("ab cd", "wx yz")] * 20
    texts[0] = SentencePair("abcd ab", "wxyz vu", ((0, 0), (1, 0)))
    guidance, split = guidance_of(
        texts, tokenizer=CharacterTokenizer, max_length={"tokens": 5, "over": "cut"}
    )
    wanted = guidance.target_distribution(Batch.from_split(split, [0]))[0]
    # the fifth letter that is left of the source is the space, which begins the next word
    assert wanted.shape == (6, 6)
    torch.testing.assert_close(wanted[:4, :5], torch.full((4, 5), 0.2).double())
    assert wanted.sum() == 4


def test_a_token_of_several_words_looks_at_the_links_of_all():
    class Spaces(WhitespaceTokenizer):
        def split(self, text):
            return text.split()

    pair = SentencePair("a bicycle is good", "自行车 很好", ((0, 0), (1, 2), (2, 3), (3, 4)), ((2, 3),))
    guidance, split = guidance_of([pair] * 4, tokenizer=Spaces)
    wanted = guidance.target_distribution(Batch.from_split(split, [0]))[0]
    expected = torch.tensor([[0.5, 0.5, 0, 0, 0], [0, 0, 0, 1, 0], [0] * 5]).double()
    torch.testing.assert_close(wanted, expected)


def test_a_weight_of_zero_has_a_finite_loss_and_gradient():
    guidance, split = guidance_of(PAIRS)
    batch = Batch.from_split(split, [3, 0])
    weights = torch.zeros(2, batch.target_output.shape[1], batch.source.ids.shape[1], requires_grad=True)
    loss = guidance.loss(weights, batch)
    (gradient,) = torch.autograd.grad(loss, weights)
    assert loss.isfinite()
    assert gradient.isfinite().all()


LENGTHS = [100, 400, 300]


def long_batch():
    store = Sentences.from_lists([[4 + place % 7 for place in range(n)] for n in LENGTHS])
    split = EncodedSplit([SentencePair("a", "b")] * 3, store, store)
    return Batch.from_split(split, [0, 1, 2])


def test_dropped_words_are_unknown_in_their_share_and_all_else_stays():
    torch.manual_seed(1)
    before = long_batch()
    after = drop_words(before, 0.3)
    for old, new in ((before.source.ids, after.source.ids), (before.target_input, after.target_input)):
        changed = old != new
        assert (new[changed] == UNKNOWN_ID).all()
        assert (old[changed] >= 4).all()
        assert abs(float(changed.sum() / (old >= 4).sum()) - 0.3) < 0.06
    assert torch.equal(before.target_output, after.target_output)
    assert torch.equal(before.source.lengths, after.source.lengths)
    assert not torch.equal(after.source.ids[:, :99] == 0, after.target_input[:, 1:100] == 0)


def test_an_objective_without_weights_cannot_be_guided():
    objective = ObjectiveWithOptions(lambda *_: (None, None), 0.0, guided_alignment_weight=1.0)
    with pytest.raises(InputError, match="guided_alignment_weight"):
        objective(None, None)


def test_tokens_that_spell_no_word_cannot_be_guided():
    class Numbers(WhitespaceTokenizer):
        def split(self, text):
            return [str(len(word)) for word in text.split()]

    pairs = [pair for pair in PAIRS if pair.alignment]
    data = PairsCorpus(train=pairs, validation=pairs, tokenizer=Numbers)
    with pytest.raises(InputError, match=r"data\.tokenizer"):
        GuidedAlignment.of(model_of(), data.prepared)


def test_the_links_are_those_of_the_corpus_that_is_trained_on():
    """A corpus without links, or none, is refused; links of another corpus are not used."""
    model, weights = model_of(source_vocab_size=9, target_vocab_size=9), torch.rand(1, 2, 1, 3)
    sums = LossSums(*(torch.tensor(float(n)) for n in range(4)))
    objective = ObjectiveWithOptions(lambda *_: (sums, weights), 0.0, guided_alignment_weight=1.0)
    found = []
    for links in (((0, 0),), ((1, 0),)):
        pairs = [SentencePair("a b", "c", links)]
        data = PairsCorpus(train=pairs, validation=pairs)
        module = SimpleNamespace(model=model, trainer=SimpleNamespace(datamodule=data))
        batch = Batch.from_split(data.prepared.train, [0])
        found.append(float(objective(module, batch)[0].objective) - float(sums.objective))
    assert found == pytest.approx([-float(weights[0, 0, 0, column].log()) for column in (0, 1)], rel=1e-5)
    unlinked = PairsCorpus(train=[("a", "b")], validation=[("a", "b")])
    for data in (unlinked, None):
        module = SimpleNamespace(model=model, trainer=SimpleNamespace(datamodule=data))
        with pytest.raises(InputError, match="gold links"):
            objective(module, batch)


def test_tokens_that_are_drawn_in_each_epoch_are_not_guided_by_links_of_others():
    pairs = [SentencePair(f"a b {n}", f"c d {n}", ((0, 0),)) for n in range(30)]
    tokenizer = partial(SentencePieceTokenizer, model_type="unigram", vocab_size=285, sampling=0.3)
    data = PairsCorpus(train=pairs, validation=pairs, tokenizer=tokenizer)
    with pytest.raises(InputError, match=r"data\.tokenizer\.sampling"):
        GuidedAlignment.of(model_of(), data.prepared)
