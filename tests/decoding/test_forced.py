"""Forced decoding by the decoder's own steps, and the weights of every head of what a search has found."""

import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END_ID
from seq2seq.decoding.aligner import word_attention
from seq2seq.decoding.forced import force_decode, force_translate, with_heads
from seq2seq.decoding.search import beam_search
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.evaluation.alignment import argmax_links
from tests.decoding.test_translator import exported_model
from tests.small import VARIANTS, batch_of, model_of, steps_of

SOURCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [7, 7]]


@pytest.mark.parametrize("variant", list(VARIANTS))
@torch.no_grad()
def test_forcing_is_the_decoders_steps_along_the_target(variant):
    model = model_of(**VARIANTS[variant])
    targets = [[5], [6, 7, 8, 9], [], [4, 4]]
    forced = force_decode(model, batch_of(SOURCES, targets))
    for source, target, hypothesis in zip(SOURCES, targets, forced, strict=True):
        assert hypothesis.ids == (*target, END_ID)
        logits, weights = zip(*steps_of(model, source, target), strict=True)
        score = sum(each.log_softmax(-1)[token] for each, token in zip(logits, hypothesis.ids, strict=True))
        assert hypothesis.score == pytest.approx(float(score), abs=1e-10)
        torch.testing.assert_close(hypothesis.weights, torch.stack(weights), rtol=0, atol=1e-12)


PAIRS = [
    SentencePair("a b c d", "c d e"),
    SentencePair("", "a"),
    SentencePair("b", "a unknown"),
    SentencePair("c", "  "),
]


def test_forced_translations_come_in_order_and_blank_sides_are_empty(tmp_path):
    exported = exported_model(tmp_path)
    size = BatchSize(sentences=1, tokens=None)
    options = {"device": torch.device("cpu"), "batch_size": size}
    first, second, third, fourth = force_translate(exported, PAIRS, **options)
    assert (second, fourth) == (EMPTY, EMPTY)
    assert first.source_tokens == ("a", "b", "c", "d", "<eos>")
    assert third.target_tokens == ("a", "<unk>", "<eos>")
    assert third.weights.shape == (3, 2)
    assert first.score < 0


def test_attention_is_between_the_words_that_white_space_separates(tmp_path):
    exported_model(tmp_path)
    pairs = [*PAIRS, SentencePair("a b,c d", "c!")]
    found = word_attention(tmp_path / "model", pairs, ("a", "b"), device="cpu", max_tokens=64)
    assert [each.shape for each in found] == [(3, 4), (0, 0), (2, 1), (0, 0), (1, 3)]
    assert argmax_links(found[1]) == frozenset()
    assert all((each.sum(axis=1) < 1).all() for each in found)


SEARCHED = [[4, 5, 6, 7], [8, 4], [9, 9, 5]]
MODELS = {
    "dot": {"score": "scaled_dot", "heads": 3},
    "local": {"alignment": "local_p", "heads": 2},
    "luong": {"decoder": "luong", "heads": 2, "score": "coverage"},
}


def found_by(model):
    source = SourceBatch.from_sentences(SEARCHED)
    return source, beam_search(model, source, size=3, num_best=2)


def watched(model, sentence, ids):
    """What each head's softmax gives, one step after the other (heads, target, source)."""
    seen = [[] for _ in model.decoder.attention.heads]
    hooks = [
        head.dropout.register_forward_hook(lambda _, __, out, into=into: into.append(out.flatten()))
        for head, into in zip(model.decoder.attention.heads, seen, strict=True)
    ]
    source, target = SourceBatch.from_sentences([sentence]), torch.tensor([[2, *ids[:-1]]])
    model.decoder(target, model.encode(source))
    for hook in hooks:
        hook.remove()
    return torch.stack([torch.stack(steps) for steps in seen])


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_each_head_of_each_hypothesis_is_what_its_softmax_gave(name):
    model = model_of(**MODELS[name])
    source, found = found_by(model)
    every = with_heads(model, source, found)
    assert [len(hypotheses) for hypotheses in every] == [2, 2, 2]
    for sentence, hypotheses in zip(SEARCHED, every, strict=True):
        for hypothesis in hypotheses:
            expected = watched(model, sentence, hypothesis.ids)
            torch.testing.assert_close(hypothesis.heads, expected)
            torch.testing.assert_close(hypothesis.heads.mean(dim=0), hypothesis.weights)


def test_one_head_and_several_models_have_none():
    single, several = model_of(), model_of(heads=2)
    for models in (single, [several, several]):
        source, found = found_by(models)
        every = with_heads(models, source, found)
        assert [each.heads for hypotheses in every for each in hypotheses] == [None] * 6


def test_json_has_every_head_where_there_are_several():
    heads = torch.tensor([[[0.25, 0.75]], [[1.0, 0.0]]])
    told = Translation("c", ("a", "b"), ("c",), -1.0, heads.mean(dim=0), heads=heads).as_dict()
    assert told["heads"] == [[[0.25, 0.75]], [[1.0, 0.0]]]
    assert told["attention"] == [[0.625, 0.375]]
    one = Translation("c", ("a", "b"), ("c",), -1.0, heads[0])
    assert "heads" not in one.as_dict()
