"""Near-copies that are held out together, and pairs that are repeated, seen or odd."""

import re

import pytest

from bitext import (
    FormatError,
    grouped,
    hold_out,
    in_file_order,
    odd_ratios,
    repeats,
    same_sides,
    seen_pairs,
    seen_sources,
)


def divided(pairs, count, seed, **options):
    """Return the pairs that are left and those that are held out."""
    held = hold_out(grouped(pairs, by_both=bool(options)), count, seed, **options)
    return [[pair for pair, each in zip(pairs, held, strict=True) if each == want] for want in (False, True)]


def test_a_split_keeps_every_pair_once_and_no_source_on_both_sides():
    pairs = [(str(index // 2), str(index)) for index in range(40)]
    rest, held_out = divided(pairs, 10, seed=3)
    assert sorted(rest + held_out, key=lambda pair: int(pair[1])) == pairs
    assert not {source for source, _ in rest} & {source for source, _ in held_out}
    assert len(held_out) == 10
    assert divided(pairs, 10, seed=3) == [rest, held_out]
    assert divided(pairs, 10, seed=4) != [rest, held_out]


VARIANTS = ["Go now {0}.", "go now {0}!", "Go, now {0}", "GO NOW {0}", "« Go now {0} »", "Go  now{0}"]
"""Sentences come in several spellings, as Tatoeba's do."""


def words_of(pair):
    return "".join(re.findall(r"[a-z0-9]+", pair[0].lower()))


def test_no_held_out_source_is_a_training_source_but_for_case_and_punctuation():
    sources = [text.format(f"no{index}") for text in VARIANTS for index in range(20)]
    pairs = [(source, str(place)) for place, source in enumerate(sources)]
    for seed in range(5):
        rest, held_out = divided(pairs, 30, seed)
        assert len(held_out) == 30
        assert not any(words_of(pair) in map(words_of, rest) for pair in held_out)
    pairs.sort(key=words_of)
    splits = [[pairs[each] for each in split] for split in in_file_order(pairs, (20, 20, 20))]
    for place, split in enumerate(splits):
        for earlier in splits[:place]:
            assert not any(words_of(pair) in map(words_of, earlier) for pair in split)


def test_equal_texts_on_either_side_connect_pairs_and_large_groups_stay():
    chain = [("a", "b"), ("B!", "c"), ("d", "e"), ("", "e")]
    groups = grouped(chain, by_both=True)
    assert groups[0] == groups[1] != groups[2]
    assert groups[3] == ""
    assert len(set(grouped(chain))) == 4
    pairs = [(f"yes {number % 7}", "ja") for number in range(90)] + [(f"a {n}", f"b {n}") for n in range(90)]
    rest, held = divided(pairs, 20, 1, at_most=True)
    assert (len(rest), len(held)) == (160, 20)
    assert not [pair for pair in held if pair[1] == "ja"]
    with pytest.raises(
        FormatError, match="90 training pairs: too few without a sentence in common to hold out 20"
    ):
        divided(pairs[:90], 20, 1, at_most=True)


def test_documents_are_held_out_whole_and_what_has_no_group_stays():
    held = hold_out(["page 1", "page 2", "", "page 1", "page 2", "page 3"], 2, seed=1)
    assert not held[2]
    assert held[0] == held[3]
    assert held[1] == held[4]
    assert 2 <= sum(held) <= 3


def test_holding_out_everything_is_refused():
    with pytest.raises(FormatError, match="9 training pairs: too few to hold out 5 of them: give more"):
        hold_out(["a"] * 9, 5, seed=1)


def test_blank_pairs_are_never_held_out():
    pairs = [(f"a {number}", "b") for number in range(8)]
    blank = [("\u200b", "b"), ("a", "\u00a0"), ("", "")]
    for seed in range(5):
        rest, held = divided(pairs + blank, 4, seed)
        assert len(held) == 4
        assert set(blank) < set(rest)
    assert in_file_order([*pairs[:2], *blank, *pairs[2:]], (2, 2, 2)) == [[0, 1], [5, 6], [7, 8]]


def test_splits_in_file_order_hold_no_source_twice():
    pairs = [(str(index // 3), str(index)) for index in range(30)]
    train, validation, test = in_file_order(pairs, (4, 5, 6))
    assert train == [0, 1, 2, 3]
    assert validation == [6, 7, 8, 9, 10]
    assert test == [12, 13, 14, 15, 16, 17]
    assert in_file_order(pairs, (4, 5, 0))[2] == []
    with pytest.raises(FormatError, match="30 pairs: too few for 20 training, 5 validation and 6 test pairs"):
        in_file_order(pairs, (20, 5, 6))


def test_pairs_and_sources_that_a_training_has_seen():
    train = [("Hello!", "Hallo!"), ("Yes.", "Ja.")]
    other = [("Hello!", "Hallo!"), ("Ja.", "Yes."), ("hello", "Guten Tag"), ("No.", "Nein.")]
    assert seen_pairs(train, other) == [True, False, False, False]
    assert seen_pairs(train, other, both_ways=True) == [True, True, False, False]
    assert seen_sources(train, other) == [True, False, True, False]
    assert seen_sources(train, other, both_ways=True) == [True, True, True, False]


def test_repeated_pairs_those_with_one_text_twice_and_odd_lengths():
    assert repeats("abab") == [False, False, True, True]
    assert same_sides([("The same!", "the same"), ("a", "b"), ("", "")]) == [True, False, False]
    usual = [("x" * 60, "y" * 15)] * 5
    pairs = [*usual, ("x" * 20, "y" * 40), ("x", "yyyyyyyyyyyy")]
    assert odd_ratios(pairs, 2) == [False] * 5 + [True, False]
    assert odd_ratios([], 2) == []
