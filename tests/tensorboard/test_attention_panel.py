"""Which sentences are recorded, and their gold links."""

import pytest
import torch

from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds
from seq2seq.errors import InputError
from seq2seq.tensorboard.attention_panel import choose_panel, gold_links, longest_source
from seq2seq.tensorboard.record_format import MAX_TOKENS
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import encode_split
from tests.tiny import codecs_of


@pytest.fixture(scope="module")
def choose(grammar, tmp_path_factory):
    pairs = grammar.sample(200, 1, "train")
    source_codec, target_codec = codecs_of(pairs, tmp_path_factory.mktemp("codecs"))
    codecs = (source_codec, target_codec)
    validation = encode_split(pairs[:5], codecs, max_length=None, truncate=False)

    def chosen(first=0, indices=(), texts=()):
        return choose_panel(
            validation, codecs, first=first, indices=indices, texts=texts, bounds=DEFAULT_BOUNDS
        )

    return chosen


def test_the_panel_is_the_first_then_the_named_then_the_texts_each_once(choose):
    panel = choose(2, [4, 1, 4], ["The cat sleeps. ||| Le chat dort.", "I see it."])
    assert panel.tags == (
        "attention/0",
        "attention/1",
        "attention/4",
        "attention/text 1",
        "attention/text 2",
    )
    assert len(panel) == len(panel.split.source) == len(panel.split.target) == 5
    assert panel.split.pairs[3] == SentencePair("The cat sleeps.", "Le chat dort.")
    assert panel.split.pairs[4] == SentencePair("I see it.", "")
    assert len(panel.split.source[3]) == 4
    assert len(panel.split.target[4]) == 0


def test_a_panel_is_no_larger_than_the_split(choose):
    assert len(choose(100)) == 5


def test_a_panel_may_be_empty(choose):
    assert len(choose()) == 0


def test_a_place_outside_the_split_is_refused(choose):
    with pytest.raises(InputError, match=r"holds 5, but the validation split has 5 pairs"):
        choose(0, [5])


@pytest.mark.parametrize("text", ["", "  ", "||| Le chat dort."])
def test_a_text_without_a_source_is_refused(choose, text):
    with pytest.raises(InputError, match="give a source sentence"):
        choose(texts=[text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a " * 1019, r"panel: attention/text 2 has 1,019 source tokens.* at most 1,018"),
        ("a ||| " + "b " * 2048, r"panel: attention/text 2 has 2,048 target tokens.* 2,047"),
    ],
)
def test_a_text_whose_record_would_be_too_large_is_refused(choose, text, message):
    assert len(choose(texts=["a " * 1018, "a ||| " + "b " * 2047])) == 2
    with pytest.raises(InputError, match=message):
        choose(texts=["a", text])


@pytest.mark.parametrize("bounds", [DEFAULT_BOUNDS, LengthBounds(max_factor=9.5, max_extra=48)])
def test_every_translation_of_the_longest_source_fits_a_record(bounds):
    longest = bounds.greatest(torch.tensor([longest_source(bounds) + 1]))
    assert MAX_TOKENS - bounds.max_factor <= longest.item() <= MAX_TOKENS
    short = LengthBounds(max_factor=0.3, max_extra=0)
    assert longest_source(short) == MAX_TOKENS - 1


def test_sentences_too_long_for_a_record_are_passed_over_unless_they_are_named(tmp_path):
    pairs = [SentencePair("a " * length, "b") for length in (3, 1100, 5)]
    source_codec, target_codec = codecs_of(pairs, tmp_path)
    codecs = (source_codec, target_codec)
    split = encode_split(pairs, codecs, max_length=None, truncate=False)
    options = {"codecs": codecs, "texts": [], "bounds": DEFAULT_BOUNDS}
    panel = choose_panel(split, first=3, indices=[], **options)
    assert panel.tags == ("attention/0", "attention/2")
    with pytest.raises(InputError, match="attention/1 has 1,100 source tokens"):
        choose_panel(split, first=0, indices=[1], **options)


PAIR = SentencePair("Do not wait.", "N'attends pas.", ((0, 0), (1, 0), (1, 2), (2, 1), (3, 3)))


def test_gold_links_of_words_are_the_alignment():
    words = (["Do", "<unk>", "wait", "."], ["N'", "attends", "pas", "."])
    assert gold_links(PAIR, *words) == PAIR.alignment


def test_every_part_of_a_word_has_the_links_of_the_word():
    source = ["▁Do", "▁no", "t", "▁wait", "."]
    target = ["▁N", "'", "attend", "s", "▁", "pas", "."]
    links = gold_links(PAIR, source, target)
    assert {(source[s], target[t]) for s, t in links} == {
        *((part, sign) for part in ("▁Do", "▁no", "t") for sign in ("▁N", "'")),
        *((part, sign) for part in ("▁no", "t") for sign in ("▁", "pas")),
        *(("▁wait", part) for part in ("attend", "s")),
        (".", "."),
    }


def test_there_are_no_links_where_tokens_spell_something_else_or_nothing_is_known():
    assert gold_links(PAIR, ["▁The", "<0xE2>", "x"], ["Le"]) is None
    assert gold_links(SentencePair("a", "b"), ["a"], ["b"]) is None


def test_gold_links_join_the_words_that_the_grammar_links(grammar):
    for pair in grammar.sample(50, 3, "train"):
        source = ["▁" + word for word in pair.source.split()]
        target = ["▁" + word for word in pair.target.split()]
        links = gold_links(pair, source, target)
        assert links
        assert {s for s, _ in links} <= set(range(len(source)))
