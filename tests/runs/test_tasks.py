"""The tasks that everybody teaches, held to what other code says of dates, order and numbers."""

import random
import re
from dataclasses import replace
from datetime import datetime

import pytest

from seq2seq.command_line.composing import composed
from seq2seq.errors import InputError
from seq2seq.own_files import CONF
from seq2seq.runs.making.corpora.tasks import TASKS
from seq2seq.runs.making.corpus import build_corpus, new_sources

FORMATS = (
    *("%d %B %Y", "%B %d, %Y", "%A, %d %B %Y", "%a, %b %d, %Y"),
    *("the %d of %B %Y", "%d.%m.%Y", "%d %b %Y"),
)
NUMBERS = {
    "en": {
        0: "zero",
        13: "thirteen",
        40: "forty",
        100: "one hundred",
        115: "one hundred and fifteen",
        1000: "one thousand",
        1005: "one thousand and five",
        20_300: "twenty thousand three hundred",
        457_286: "four hundred and fifty-seven thousand two hundred and eighty-six",
    },
    "fr": {
        0: "zéro",
        21: "vingt et un",
        22: "vingt-deux",
        61: "soixante et un",
        70: "soixante-dix",
        71: "soixante et onze",
        79: "soixante-dix-neuf",
        80: "quatre-vingts",
        81: "quatre-vingt-un",
        90: "quatre-vingt-dix",
        91: "quatre-vingt-onze",
        100: "cent",
        101: "cent un",
        180: "cent quatre-vingts",
        200: "deux cents",
        201: "deux cent un",
        1000: "mille",
        2071: "deux mille soixante et onze",
        80_000: "quatre-vingt mille",
        200_080: "deux cent mille quatre-vingts",
        457_300: "quatre cent cinquante-sept mille trois cents",
    },
}


class Given(random.Random):
    """Draws given numbers."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def randrange(self, *_):
        return self.number


def data_of(task, *overrides):
    sizes = [f"data.{split}_pairs={size}" for split, size in SIZES.items()]
    return composed(CONF, [f"experiment={task}", *sizes, *overrides])[0].data


SIZES = {"train": 400, "validation": 30, "test": 50}


def parsed(text):
    """The date that the standard library reads."""
    plain = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", text)
    found = set()
    for each in FORMATS:
        try:
            found.add(datetime.strptime(plain, each).date().isoformat())
        except ValueError:
            continue
    return found


def test_dates_are_those_that_the_standard_library_reads():
    draw = random.Random(1)
    pairs = [TASKS["dates"](draw, "") for _ in range(600)]
    for pair in pairs:
        assert parsed(pair.source) == {pair.target}, pair
    assert {"1st", "2nd", "3rd", "11th", "12th", "13th", "21st"} <= {
        word.strip(",") for pair in pairs for word in pair.source.split()
    }


def test_a_reversed_sequence_is_linked_place_by_place():
    draw = random.Random(1)
    for _ in range(50):
        pair = TASKS["reverse"](draw, "")
        source, target = pair.source.split(), pair.target.split()
        assert source == list(reversed(target))
        assert all(source[s] == target[t] and s + t == len(source) - 1 for s, t in pair.alignment)
        assert len(pair.alignment) == len(source)


@pytest.mark.parametrize("language", NUMBERS)
def test_numbers_are_said_as_people_say_them(language):
    said = {n: TASKS["numbers"](Given(n), language) for n in NUMBERS[language]}
    assert {n: pair.target for n, pair in said.items()} == NUMBERS[language]
    assert all(pair.source == str(n) for n, pair in said.items())
    words = {TASKS["numbers"](Given(n), language).target for n in range(3000)}
    assert len(words) == 3000


@pytest.mark.parametrize("task", TASKS)
def test_no_answer_of_a_split_is_one_of_another(task):
    data = replace(data_of(task), train_pairs=4000, test_pairs=500)
    corpus = build_corpus(data)
    splits = [getattr(corpus, name) for name in SIZES]
    assert [len(split) for split in splits] == [4000, SIZES["validation"], 500]
    answers = [{pair.target for pair in split} for split in splits]
    assert sum(map(len, answers)) == len(set.union(*answers))
    sources = [pair.source for split in splits for pair in split]
    assert len(set(sources)) == len(sources)
    assert build_corpus(data) == corpus
    assert build_corpus(replace(data, seed=2)) != corpus


def test_numbers_are_said_in_two_languages_only():
    with pytest.raises(InputError, match=r"data\.target_language=de: data\.task=numbers says"):
        build_corpus(data_of("numbers", "data.target_language=de"))


@pytest.mark.parametrize("task", ["reverse", "baseline"])
def test_what_a_person_is_given_to_try_is_in_no_split(task):
    data = data_of(task)
    corpus = build_corpus(data)
    (first, *others) = new_sources(data, corpus)
    assert len({first, *others}) == 3
    held = {p.source for split in (corpus.train, corpus.validation, corpus.test) for p in split}
    assert not held & {first, *others}
    assert new_sources(data, corpus) == [first, *others]
    known = next(pair for pair in build_corpus(replace(data, seed=data.seed + 1)).test)
    told = replace(corpus, test=[*corpus.test, replace(known, source=first)])
    assert first not in new_sources(data, told)


def test_of_files_there_is_nothing_to_try():
    data = composed(CONF, ["data=tatoeba", "data.file=x"])[0].data
    assert new_sources(data, build_corpus(data_of("reverse"))) == []
