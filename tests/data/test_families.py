"""The script of the everyday corpora keeps near-copies in one split."""

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
