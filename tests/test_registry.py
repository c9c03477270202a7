"""Parts by name, whatever they are; tests/attention and test_third_party_metric have real ones."""

from collections.abc import Callable

import pytest
from torch import nn

from seq2seq.model.build import build_seq2seq
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.registry import Registry
from tests.models import spec_of


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
        "'bad_part:bad': OSError: no"
    ]
    with pytest.raises(ImportError, match="part 'bad' of the package 'bad-part'"):
        parts["bad"]


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "import sys\nsys.exit('bye')"])
def test_a_package_that_calls_exit_ends_nothing(parts, install_part, code):
    install_part("bad-part", "seq2seq.parts", "bad = bad_part:bad", code)
    assert list(parts.working()) == ["zebra", "ant"]
    with pytest.raises(ImportError, match=r"part 'bad' of the package 'bad-part'.*SystemExit"):
        parts["bad"]


def test_what_a_notebook_added_is_told_to_the_processes_that_it_starts(parts, monkeypatch):
    monkeypatch.setattr("os.environ", {})
    parts.add("cow")({"legs": 4})
    of_a_job = Registry("part", {}, dict)
    with pytest.raises(ValueError, match="part 'cow' was added in the process that started this"):
        of_a_job["cow"]
    with pytest.raises(ValueError, match="unknown score 'cow'"):
        Registry("score", {}, dict).require("cow")


def test_a_name_that_two_packages_bring_is_neithers(parts, install_part):
    for package in ("one", "other"):
        install_part(f"{package}-part", "seq2seq.parts", f"owl = {package}_part:owl", "owl = {}")
    with pytest.raises(ImportError, match=r"part 'owl' of the package .* is another package's too"):
        parts["owl"]


@pytest.mark.parametrize("name", ["a/b", "..", "a\x1b[31m", "", "taken"])
def test_a_name_is_plain_and_means_nothing_else(name):
    with pytest.raises(TypeError, match="cannot be called that"):
        Registry("part", {}, dict, reserved={"taken"}).add(name)({})


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(0), AttributeError("y")])
def test_what_another_packages_part_raises_when_called_is_one_line(error):
    def fails(size):
        raise error

    parts = Registry("part", {"own": fails}, Callable)
    parts.add("bad")(fails)
    with pytest.raises(ImportError, match=f"part 'bad' fails: {type(error).__name__}"):
        parts.made("bad", size=3)
    with pytest.raises(type(error)):
        parts.made("own", size=3)


def test_entry_points_that_cannot_be_read_are_left_out_in_one_line(
    parts, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: odd\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_bytes(b"[seq2seq.parts]\n\xff = a:b\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert parts.names() == parts.names() == ["zebra", "ant"]
    assert capsys.readouterr().err.startswith("WARNING: left out: all seq2seq.parts of other")


@pytest.mark.parametrize("makes", [lambda _: None, lambda _: nn.Linear(1, 1)])
def test_what_is_no_decoder_is_refused_before_it_is_used(monkeypatch, makes):
    monkeypatch.setattr(DECODERS, "_added", {})
    DECODERS.add("odd")(makes)
    with pytest.raises(TypeError, match="decoder 'odd' makes no Decoder"):
        build_seq2seq(spec_of(decoder="odd"))
