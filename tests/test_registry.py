"""Parts by name, whatever they are; tests/attention and test_third_party_metric have real ones."""

import pytest

from seq2seq.registry import Registry


@pytest.fixture
def parts():
    return Registry("part", {"zebra": {"legs": 4}, "ant": {"legs": 6}}, dict)


def test_built_in_names_keep_their_order_and_others_follow_sorted(parts, install_part):
    install_part("some-part", "seq2seq.parts", "owl = some_part:owl", "owl = {'legs': 2}")
    parts.add("cow")({"legs": 4})
    assert parts.names() == ["zebra", "ant", "cow", "owl"]
    assert parts["owl"] == {"legs": 2}
    assert list(parts.working()) == parts.names()


def test_a_part_is_left_as_it_is_and_replaced_by_adding_again_unless_it_is_built_in(parts):
    assert parts.add("cow")({"legs": 3}) == {"legs": 3}
    parts.add("cow")({"legs": 4})
    assert parts["cow"] == {"legs": 4}
    with pytest.raises(ValueError, match="part 'ant' is built in: choose another name"):
        parts.add("ant")


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all(parts):
    with pytest.raises(
        ValueError, match=r"unknown part 'zebr', did you mean 'zebra'.*: zebra, ant"
    ):
        parts["zebr"]
    with pytest.raises(ValueError, match="unknown part 'xyz'; known parts: zebra, ant"):
        parts.require("xyz")


def test_what_does_not_keep_the_contract_is_refused(parts, install_part):
    with pytest.raises(TypeError, match="part 'cow' is no dict: 7"):
        parts.add("cow")(7)
    install_part("bad-part", "seq2seq.parts", "bad = bad_part:bad", "bad = 7")
    with pytest.raises(TypeError, match="part 'bad' of the package 'bad-part' is no dict: 7"):
        parts["bad"]


def test_a_broken_package_is_one_line_that_names_it_and_the_others_work(
    parts, install_part, capsys
):
    install_part("bad-part", "seq2seq.parts", "bad = bad_part:bad", "raise OSError('no\\nlicence')")
    for _ in range(2):
        assert list(parts.working()) == ["zebra", "ant"]
    assert capsys.readouterr().err.splitlines() == [
        "WARNING: left out: part 'bad' of the package 'bad-part' cannot be imported from "
        "'bad_part:bad': no"
    ]
    with pytest.raises(ImportError, match="part 'bad' of the package 'bad-part'"):
        parts["bad"]
