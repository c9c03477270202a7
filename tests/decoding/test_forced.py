from itertools import pairwise

import pytest
import torch

from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import BEGIN_ID, END_ID
from seq2seq.decoding.aligner import word_attention
from seq2seq.decoding.forced import force_decode, force_translate
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.translator import EMPTY
from seq2seq.evaluation.alignment import argmax_links
from tests.decoding.test_translator import exported_model
from tests.small import VARIANTS, model_of

SOURCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [7, 7]]


def batch_of(sources, targets):
    split = EncodedSplit(
        [SentencePair("a", "b")] * len(sources), Sentences.from_lists(sources), Sentences.from_lists(targets)
    )
    return Batch.from_split(split, range(len(sources)))


def stepped(model, source, ids):
    """Score and attention of ids, by the decoder's own steps."""
    batch = SourceBatch.from_sentences([source])
    memory = model.encode(batch.ids, batch.lengths, batch.is_token)
    state, score, rows = model.decoder.initial_state(memory), 0.0, []
    for previous, token in pairwise([BEGIN_ID, *ids]):
        embedded = torch.tensor([previous])
        features, state, weights = model.decoder.step(embedded, state, memory)
        score += float(model.decoder.output(features).log_softmax(dim=-1)[0, token])
        rows.append(weights[0])
    return score, torch.stack(rows)


@pytest.mark.parametrize("variant", list(VARIANTS))
@torch.no_grad()
def test_forcing_is_the_decoders_steps_along_the_target(variant):
    model = model_of(**VARIANTS[variant])
    targets = [[5], [6, 7, 8, 9], [], [4, 4]]
    forced = force_decode(model, batch_of(SOURCES, targets))
    for source, target, hypothesis in zip(SOURCES, targets, forced, strict=True):
        assert hypothesis.ids == (*target, END_ID)
        score, weights = stepped(model, source, hypothesis.ids)
        assert hypothesis.score == pytest.approx(score, abs=1e-10)
        torch.testing.assert_close(hypothesis.weights, weights, rtol=0, atol=1e-12)


def test_forcing_what_greedy_search_found_gives_its_score_and_attention():
    model = model_of(**VARIANTS["bridge_and_readout"])
    model.decoder.output.weight.data.mul_(12)  # so that translations have words, and end
    model.decoder.output.bias.data[END_ID] += 4
    found = greedy_search(model, SourceBatch.from_sentences(SOURCES))
    assert all(one.ids[-1] == END_ID for one in found)
    batch = batch_of(SOURCES, [list(one.ids[:-1]) for one in found])
    for searched, forced in zip(found, force_decode(model, batch), strict=True):
        assert forced.ids == searched.ids
        assert forced.score == pytest.approx(searched.score, abs=1e-10)
        torch.testing.assert_close(forced.weights, searched.weights, rtol=0, atol=1e-12)


def test_forced_scores_do_not_depend_on_the_pairs_beside_them():
    model = model_of()
    targets = [[5], [6, 7, 8, 9], [], [4, 4]]
    together = force_decode(model, batch_of(SOURCES, targets))
    for source, target, one in zip(SOURCES, targets, together, strict=True):
        (alone,) = force_decode(model, batch_of([source], [target]))
        assert one.score == pytest.approx(alone.score, abs=1e-10)
        torch.testing.assert_close(one.weights, alone.weights, rtol=0, atol=1e-12)
        assert one.weights.shape == (len(target) + 1, len(source) + 1)


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
    found = word_attention(tmp_path / "model", pairs, device="cpu", max_tokens=64)
    assert [each.weights.shape for each in found] == [(3, 4), (0, 0), (2, 1), (0, 0), (1, 3)]
    assert argmax_links(found[1].weights) == frozenset()
    assert all((each.weights.sum(axis=1) < 1).all() for each in found)
    assert [(set(each.source_words), set(each.target_words)) for each in found[1:3]] == [
        (set(), set()),
        ({0}, {0, 1}),
    ]
