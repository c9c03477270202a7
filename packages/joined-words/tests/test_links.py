"""Links between words: gold alignments, the error rate, and links of parts of words."""

import re

import pytest

from joined_words import (
    AlignmentCounts,
    GoldAlignment,
    LinkError,
    format_links,
    links_of_parts,
    require_inside,
    text_word_parts,
)

GOLD = GoldAlignment.from_links([(0, 0), (10, 2), (2, 1)], only_possible=[(2, 1)])


def parsed(line):
    """All links of a line, of which i?j are possible, and these."""
    found = [((int(i), int(j)), sign) for i, sign, j in re.findall(r"(\d+)([-?])(\d+)", line)]
    return tuple(link for link, _ in found), tuple(link for link, sign in found if sign == "?")


def gold_of(line):
    return GoldAlignment.from_links(*parsed(line))


def test_links_survive_the_round_trip_in_order():
    links = frozenset((i, j) for i in range(8, 12) for j in range(7))
    assert format_links(links).startswith("8-0 8-1 8-2 8-3 8-4 8-5 8-6 9-0 ")
    assert format_links(links).endswith(" 11-6")
    assert gold_of(format_links(links)).sure == links


def test_links_outside_the_sentence_are_refused():
    require_inside(GOLD.possible, (11, 3))
    for sizes in ((10, 3), (11, 2)):
        with pytest.raises(LinkError, match=r"link 10-2 is outside the sentence pair of .* white space"):
            require_inside(GOLD.possible, sizes)


def parts(source, target, links):
    (source,), (target,) = text_word_parts([source]), text_word_parts([target])
    return links_of_parts(*parsed(links), source, target)


def test_words_and_marks_belong_together_and_a_mark_without_its_like_is_linked_to_nothing_surely():
    assert parts("The bushes.", "Die Büsche.", "0-0 1-1") == (((0, 0), (1, 1), (2, 2)), ())
    assert parts("The bushes,", "Die Büsche", "0-0 1?1") == (((0, 0), (1, 1), (2, 1)), ((1, 1), (2, 1)))
    assert parts("bushes,", "Büsche", "0-0") == (((0, 0), (1, 0)), ((1, 0),))


OTHER = GoldAlignment.from_links([(0, 0), (1, 1), (2, 1), (2, 2)], only_possible=[(2, 1)])


def test_the_error_rate_of_gold_against_itself_is_zero():
    for links in (OTHER.sure, OTHER.possible):
        counts = AlignmentCounts.of(links, OTHER)
        assert counts.error_rate == 0
        assert counts.precision == counts.recall == 1


def test_the_error_rate_is_that_of_och_and_ney():
    # A has 3 links, 1 sure, 1 possible only, 1 wrong; S has 3
    counts = AlignmentCounts.of(frozenset({(0, 0), (2, 1), (0, 2)}), OTHER)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(1 / 3)
    assert counts.error_rate == pytest.approx(1 - (1 + 2) / (3 + 3))


def test_counts_of_pairs_add_up():
    one = AlignmentCounts.of(frozenset({(0, 0)}), OTHER)
    other = AlignmentCounts.of(frozenset({(5, 5), (1, 1)}), OTHER)
    total = one + other
    assert (total.num_links, total.num_sure) == (3, 6)
    assert (total.num_found_sure, total.num_found_possible) == (2, 2)


def test_nothing_found_where_nothing_is_to_find_is_no_error():
    assert AlignmentCounts().metrics() == {"aer": 0.0, "precision": 1.0, "recall": 1.0}
    assert AlignmentCounts.of(frozenset(), OTHER).error_rate == 1
