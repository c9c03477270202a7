from dataclasses import replace

import pytest
import torch

from seq2seq.decoding.aligner import token_words
from seq2seq.evaluation.alignment import AlignmentCounts, GoldAlignment, argmax_links
from seq2seq.text.batch import Batch
from seq2seq.text.store import encode_split
from seq2seq.text.words import split_words
from seq2seq.training.attention_measures import AttentionMeasures
from seq2seq.training.attention_watch import UNIFORM_ENTROPY, AttentionWatch
from tests.tiny import codecs_of


@pytest.fixture(scope="module")
def pairs(grammar):
    return grammar.sample(60, 1, "train")


def trained_codecs(pairs, folder, tokenizer):
    return codecs_of(pairs, folder, tokenizer=tokenizer, lowercase=True, max_size=600)


@pytest.fixture(params=["word", "unigram"])
def codecs(request, pairs, tmp_path):
    return trained_codecs(pairs, tmp_path, request.param)


def encoded(pairs, codecs, max_length=None):
    source, target = codecs
    return encode_split(pairs, (source, target), max_length=max_length, truncate=True)


def word_weights(pair, seed):
    generator = torch.Generator().manual_seed(seed)
    shape = len(split_words(pair.target)), len(split_words(pair.source))
    return torch.rand(*shape, generator=generator).softmax(dim=1)


def token_weights(split, codecs, batch):
    """Attention of tokens: that of their words, spread evenly over the source word's tokens."""
    widest = batch.target_input.shape[1], batch.source.ids.shape[1]
    weights = torch.zeros(len(batch), *widest)
    for row, index in enumerate(batch.sentence_ids.tolist()):
        pair = split.pairs[index]
        of_words = word_weights(pair, index)
        source = token_words(codecs[0], pair.source, split_words(pair.source))
        target = token_words(codecs[1], pair.target, split_words(pair.target))
        for j, target_word in enumerate(target):
            for i, source_word in enumerate(source):
                share = of_words[target_word, source_word] / source.count(source_word)
                weights[row, j, i] = share
    return weights


def measured(split, codecs, *batches):
    measures = AttentionMeasures(split, *codecs)
    for ids in batches:
        batch = Batch.from_split(split, ids)
        measures.add(token_weights(split, codecs, batch), batch)
    return measures.metrics()


def test_alignments_of_any_tokens_are_scored_as_alignments_of_words(pairs, codecs):
    split = encoded(pairs, codecs)
    counts = AlignmentCounts()
    for index, pair in enumerate(pairs):
        gold = GoldAlignment.from_links(pair.alignment, pair.possible)
        counts += AlignmentCounts.of(argmax_links(word_weights(pair, index)), gold)
    found = measured(split, codecs, range(60))
    assert 0.5 < found["alignment/aer"] < 1
    for name, value in counts.metrics().items():
        assert found[f"alignment/{name}"] == pytest.approx(value)


@pytest.mark.parametrize(("tokenizer", "least"), [("word", 0), ("whitespace", 0.05)])
def test_no_link_is_invented_and_the_least_error_rate_is_that_of_gold(
    pairs, tmp_path, tokenizer, least
):
    codecs = codecs_of(pairs, tmp_path, tokenizer=tokenizer)
    split = encoded(pairs, codecs)
    batch = Batch.from_split(split, range(60))
    measures = AttentionMeasures(split, *codecs)
    weights = torch.zeros(60, batch.target_input.shape[1], batch.source.ids.shape[1])
    num_wordless = 0
    for index, pair in enumerate(pairs):
        source, target = (
            token_words(codec, text, split_words(text))
            for codec, text in zip(codecs, (pair.source, pair.target), strict=True)
        )
        num_wordless += len(split_words(pair.target)) - len(target)
        for row, j in enumerate(target):
            linked = [i for i in source if (i, j) in pair.alignment] or source
            # a sure link before a possible one
            chosen = next((i for i in linked if (i, j) not in pair.possible), linked[0])
            weights[index, row, source.index(chosen)] = 1
    measures.add(weights, batch)
    found = measures.metrics()
    assert (num_wordless > 0) == (tokenizer == "whitespace")
    num_target_words = sum(len(split_words(pair.target)) for pair in pairs)
    assert measures._counts.num_links == num_target_words - num_wordless
    assert found["alignment/aer"] == pytest.approx(found["alignment/least_aer"])
    assert found["alignment/least_aer"] >= least


def test_measures_do_not_depend_on_the_batches(pairs, codecs):
    split = encoded(pairs, codecs)
    together = measured(split, codecs, range(20))
    apart = measured(split, codecs, [19, 3], range(3), range(4, 19))
    assert apart == pytest.approx(together, abs=1e-6)
    assert together["attention/padding_mass"] == 0


def test_a_reset_forgets_what_was_counted(pairs, codecs):
    split = encoded(pairs, codecs)
    measures = AttentionMeasures(split, *codecs)
    for ids in (range(9), [5, 7]):
        measures.reset()
        batch = Batch.from_split(split, ids)
        measures.add(token_weights(split, codecs, batch), batch)
    assert measures.metrics() == measured(split, codecs, [5, 7])


def test_without_gold_there_is_health_only(pairs, codecs):
    split = encoded([replace(pair, alignment=None, possible=()) for pair in pairs], codecs)
    assert {name.split("/")[0] for name in measured(split, codecs, range(5))} == {"attention"}


def test_sentences_that_were_cut_are_measured_as_far_as_they_go(pairs, tmp_path):
    codecs = trained_codecs(pairs, tmp_path, "word")
    diagonal = tuple((place, place) for place in range(3))
    split = encoded([replace(pair, alignment=diagonal, possible=()) for pair in pairs], codecs, 3)
    batch = Batch.from_split(split, range(60))
    # most weight is on <eos>, which is the fourth token now, not the fourth word
    weights = torch.tensor([0.4, 0.0, 0.0, 0.6]).repeat(60, 4, 1)
    weights[:, 1, :3], weights[:, 2, :3] = torch.eye(3)[1] * 0.4, torch.eye(3)[2] * 0.4
    measures = AttentionMeasures(split, *codecs)
    measures.add(weights, batch)
    assert measures.metrics()["alignment/aer"] == 0


def test_tokens_find_their_words_where_lower_case_is_shorter(pairs, codecs):
    tokens = codecs[0].tokenizer.tokens("Aẞẞẞẞẞ b")
    found = token_words(codecs[0], "Aẞẞẞẞẞ b", ["Aẞẞẞẞẞ", "b"])
    assert len(found) == len(tokens)
    assert (found[0], found[-1]) == (0, 1)


def watched(watch, *entropies):
    for entropy in entropies:
        watch.judge(entropy)
    return watch


def test_uniform_attention_after_the_warm_up_is_said_once_in_one_line(capsys):
    watched(AttentionWatch(), UNIFORM_ENTROPY + 0.01)
    assert capsys.readouterr().out == ""
    watched(AttentionWatch(), 0.99, 0.98, 0.99)
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "attention is still uniform after 2 validations (entropy 0.980" in said


def test_attention_that_forms_is_not_remarked_upon(capsys):
    watched(AttentionWatch(), 0.99, UNIFORM_ENTROPY - 0.01, 0.3)
    assert capsys.readouterr().out == ""


def test_a_resumed_watch_goes_on_counting(capsys):
    resumed = AttentionWatch()
    resumed.load_state_dict(watched(AttentionWatch(), 0.99).state_dict())
    watched(resumed, 0.99)
    assert "after 2 validations" in capsys.readouterr().out
    silent = AttentionWatch()
    silent.load_state_dict(resumed.state_dict())
    watched(silent, 0.99)
    assert capsys.readouterr().out == ""
