"""What the standard recipe leaves to the size of the corpus."""

import pytest

from seq2seq.command_line.composing import composed
from seq2seq.own_files import CONF
from seq2seq.runs.making.by_size import (
    Length,
    dropouts,
    num_passes,
    sized,
    sized_line,
    vocabulary_size,
)

REAL = ["data=tatoeba", "data.file=f"]


@pytest.fixture
def configured():
    """Overrides -> the configuration, composed as the program does it."""
    return lambda *overrides: composed(CONF, overrides)[0]


def test_the_vocabulary_grows_with_the_corpus_to_a_bound():
    sizes = [vocabulary_size(num) for num in (2, 5_000, 29_000, 100_000, 10_000_000)]
    assert sizes == [1_000, 4_000, 8_000, 13_000, 16_000]
    assert all(isinstance(size, int) for size in sizes)


@pytest.mark.parametrize(
    ("overrides", "size"),
    [
        ([], 8_000),
        (["data.tokenizer.max_size=700"], 700),
        (["recipe=small"], 4_000),
        (["recipe=small", "data.tokenizer.name=word", "data.tokenizer.max_size=null"], None),
    ],
)
def test_only_a_vocabulary_of_subwords_that_is_not_given_follows_the_corpus(
    configured, overrides, size
):
    assert sized(configured(*REAL, *overrides), 29_000).data.tokenizer.max_size == size


def test_what_memory_does_not_hold_is_large(configured):
    assert sized(configured(*REAL), 0) == sized(configured(*REAL), 500_000)
    assert sized(configured(*REAL), 0).model.dropout == 0.1


@pytest.mark.parametrize(
    ("overrides", "num_pairs", "num_processes", "size"),
    [
        ([], 29_000, 1, 128),
        (["trainer.max_epochs=9"], 29_000, 1, 128),
        (["trainer.max_epochs=8"], 29_000, 1, 64),
        (["trainer.max_epochs=3"], 29_000, 1, 32),
        (["trainer.max_epochs=9"], 29_000, 2, 64),
        (["trainer.max_epochs=9", "trainer.accumulate=2"], 29_000, 1, 64),
        (["trainer.max_steps=1999"], 29_000, 1, 32),
        (["trainer.max_epochs=3", "trainer.batch_sentences=100"], 29_000, 1, 100),
        (["trainer.max_epochs=3", "trainer.batch_tokens=100"], 29_000, 1, None),
    ],
)
def test_the_batch_is_halved_until_there_are_two_thousand_steps(
    configured, overrides, num_pairs, num_processes, size
):
    fitted = sized(configured(*REAL, *overrides), num_pairs, num_processes)
    assert fitted.trainer.batch_sentences == size


def test_dropout_grows_with_the_passes_between_two_and_a_half_and_thirty_four():
    passes = [0.1, 2.5, 9.22, 34, 1_000]
    found = [dropouts(each) for each in passes]
    assert found == [(0.1, 0.1), (0.1, 0.1), (0.2, 0.3), (0.3, 0.5), (0.3, 0.5)]


@pytest.mark.parametrize(
    ("overrides", "passes"),
    [
        (["trainer.max_steps=100", "trainer.batch_sentences=10"], 5.0),
        (["trainer.max_steps=100", "trainer.batch_sentences=10", "trainer.accumulate=3"], 15.0),
        (["trainer.max_epochs=4", "trainer.max_steps=100", "trainer.batch_sentences=10"], 4.0),
        (["trainer.max_epochs=7", "trainer.max_steps=100", "trainer.batch_sentences=10"], 5.0),
        (["trainer.max_epochs=7", "trainer.max_steps=null"], 7.0),
    ],
)
def test_passes_are_those_of_the_shorter_length(configured, overrides, passes):
    assert num_passes(configured(*REAL, *overrides).trainer, 200) == passes


def test_the_length_in_steps_is_one_in_epochs_and_validates_about_thirty_times(configured):
    trainer = configured(*REAL, "trainer.max_steps=1000").trainer
    assert Length.of(trainer, 7) == Length(700, 100, 3)
    assert Length.of(trainer, 14) == Length(1000, 72, 2)
    assert Length.of(trainer, 400) == Length(1000, 3, 1)
    trainer = configured(*REAL, "trainer.max_epochs=3", "trainer.validate_every=2").trainer
    assert Length.of(trainer, 7) == Length(21, 3, 2)


def dropouts_of(config, num_pairs):
    model = sized(config, num_pairs).model
    return model.embedding_dropout, model.memory_dropout, model.dropout


def test_dropout_that_is_left_to_the_corpus_is_a_number_in_training(configured):
    assert dropouts_of(configured(*REAL), 28_900) == (0.3, None, 0.5)
    assert dropouts_of(configured(*REAL), 500_000) == (0.1, None, 0.1)
    own = configured(*REAL, "model.embedding_dropout=0.25", "model.memory_dropout=0.4")
    assert dropouts_of(own, 28_900) == (0.25, 0.4, 0.5)
    assert dropouts_of(configured(*REAL, "model.dropout=0.2"), 28_900) == (None, None, 0.2)


def test_what_is_chosen_by_size_is_said(configured):
    config = configured(*REAL)
    assert sized_line(config, sized(config, 5_000)) == (
        "by size     data.tokenizer.max_size=4000 model.dropout=0.5 model.embedding_dropout=0.3 "
        "trainer.batch_sentences=128"
    )
    assert sized(configured(), 5_000) == configured()


def test_real_text_has_the_standard_recipe_where_none_is_chosen(configured):
    assert configured(*REAL).trainer.max_steps == 7700
    assert configured(*REAL, "recipe=small").trainer.max_steps is None
    assert configured("experiment=multi30k_en_de").trainer.max_epochs == 34
    assert configured("data=grammar").trainer.max_epochs == 6
