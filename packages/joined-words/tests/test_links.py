import pytest

from seq2seq.common.errors import InputError
from seq2seq.evaluation.alignment import GoldAlignment, format_links, read_pharaoh, require_within

GOLD = GoldAlignment.from_links([(0, 0), (10, 2), (2, 1)], only_possible=[(2, 1)])


def gold_of(line, folder):
    (folder / "gold").write_text(line)
    return read_pharaoh(folder / "gold")[0]


def test_links_survive_the_round_trip_in_order(tmp_path):
    links = frozenset((i, j) for i in range(8, 12) for j in range(7))
    assert format_links(links).startswith("8-0 8-1 8-2 8-3 8-4 8-5 8-6 9-0 ")
    assert format_links(links).endswith(" 11-6")
    assert gold_of(format_links(links), tmp_path).sure == links


def test_a_question_mark_or_a_p_marks_possible_links_and_sure_wins(tmp_path):
    assert gold_of("0-0 2?1 10-2", tmp_path) == GOLD
    assert gold_of("2p1 0-0 10-2", tmp_path) == GOLD
    assert gold_of("0-0 0?0", tmp_path).sure == {(0, 0)}


def test_a_blank_line_is_a_pair_without_links(tmp_path):
    file = tmp_path / "gold"
    file.write_text("0-0\n\n1-1 2?1\n")
    assert [len(gold.possible) for gold in read_pharaoh(file)] == [1, 0, 2]


@pytest.mark.parametrize("item", ["1", "1-", "-1-2", "1-2-3", "a-b", "1_2", "1–2", "٣-1", "1-1,"])
def test_what_is_no_link_is_refused_with_file_and_line(tmp_path, item):
    file = tmp_path / "gold"
    file.write_text(f"0-0\n1-1 {item}\n", "utf-8")
    with pytest.raises(InputError, match=r"line 2: .* is no link: write SOURCE-TARGET") as caught:
        read_pharaoh(file)
    assert str(file) in str(caught.value)
    assert item in str(caught.value)


def test_links_outside_the_sentence_are_refused():
    assert require_within(GOLD, 11, 3, "gold, line 1") is GOLD
    for sizes in ((10, 3), (11, 2)):
        with pytest.raises(InputError, match="gold, line 1: link 10-2 is outside"):
            require_within(GOLD, *sizes, "gold, line 1")
