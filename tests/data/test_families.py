"""The script of the everyday corpora keeps near-copies in one split."""

import itertools
import random
import re
import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))  # as for a script, which imports its neighbors
FAMILY = runpy.run_path(str(SCRIPTS / "make_everyday.py"))["family"]


def family(source):
    return FAMILY(source, {"tom", "mary", "paris"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tom is here.", "Mary is here!"),
        ("I am here.", "They were here."),
        ("I'm tired.", "She is tired."),
        ("He doesn't like it.", "I don't like it."),
        ("I did not see him.", "Tom didn't see you."),
        ("I will help you.", "She'll help him."),
        ("I can't swim.", "You cannot swim."),
        ("Tom wants to live in Paris.", "We want to live in Paris."),
        ("He tries again.", "I try again."),
        ("I watch her.", "She watches me."),
        ("We have two sons.", "She has three sons."),
        ("He is 25 years old.", "Tom is twenty-five years old."),
    ],
)
def test_sentences_that_differ_by_names_pronouns_or_numbers_are_one_family(one, other):
    assert family(one) == family(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tom is here.", "Tom isn't here."),
        ("I like tea.", "I like coffee."),
        ("I will go.", "I would go."),
        ("Where is he?", "When is he?"),
    ],
)
def test_other_words_are_another_family(one, other):
    assert family(one) != family(other)


VARY = runpy.run_path(str(SCRIPTS / "vary_pairs.py"))


def test_a_name_gives_way_on_both_sides_and_stays_where_it_is_a_genitive():
    lists = {"man": ["Omar"], "woman": ["Yuki"]}
    draw = random.Random(1)
    pairs = [
        ("Tom saw Mary.", "Tom a vu Mary."),
        ("Tom's dog.", "Le chien de Tom."),
        ("Tom.", "Thomas."),
        ("Toms Hund.", "Tom"),
    ]
    seen = {VARY["renamed"](pair, lists, draw) for _ in range(50) for pair in pairs}  # fmt: skip
    assert ("Omar saw Yuki.", "Omar a vu Yuki.") in seen
    assert {*pairs} <= seen
    assert len(seen) == 3 + 4  # either name, both, and the four as they were


def test_figures_change_in_the_same_way_on_both_sides():
    pairs = [("It costs 2.50.", "Ça coûte 2,50."), ("at 3 pm", "à 15 h"), ("none", "aucun")]
    found = [*VARY["refigured"](pairs, random.Random(1))]
    assert len(found) == 6
    for source, target in found:
        assert re.findall(r"\d", source) == re.findall(r"\d", target)
        assert re.sub(r"\d", "0", source) == "It costs 0.00."


def test_phrases_are_those_that_no_link_leaves():
    draw = random.Random(1)
    for _ in range(100):
        length, other = draw.randint(1, 6), draw.randint(1, 6)
        links = {(draw.randrange(length), draw.randrange(other)) for _ in range(draw.randint(1, 8))}
        wanted = set()
        for start, stop in itertools.combinations(range(length + 1), 2):
            for low, high in itertools.combinations(range(other + 1), 2):
                crossing = [(start <= i < stop) != (low <= j < high) for i, j in links]
                inner = [(i, j) for i, j in links if start <= i < stop and low <= j < high]
                tight = inner and min(j for _, j in inner) == low and max(j for _, j in inner) == high - 1
                ends = {start, stop - 1} <= {i for i, _ in inner}
                if tight and ends and not any(crossing) and stop - start <= 5:
                    wanted.add((start, stop, low, high))
        assert set(VARY["consistent"](links, length)) == wanted
