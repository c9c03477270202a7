"""Files at addresses, which fsspec opens, and files that patterns match."""

import gzip
import logging

import pytest

from bitext import Columns, FormatError, holds_pairs, lines, matching, on_disk, parallel_files, read, read_two

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def far(tmp_path):
    """Put a file at an address, and return the address."""

    def put(name, content):
        address = f"memory://{tmp_path}/{name}"
        with fsspec.open(address, "wb") as file:
            file.write(content)
        return address

    return put


def test_files_at_addresses_are_read_as_those_on_a_disk_once_and_told(far):
    address = far("a.tsv.gz", gzip.compress(b"A dog.\tUn chien.\n", mtime=0))
    logger, told, handler = logging.getLogger("bitext"), [], logging.Handler()
    handler.emit, level = told.append, logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        assert holds_pairs(address)
        assert [tuple(pair) for pair in read(address, Columns(("en", "fr")))] == [("A dog.", "Un chien.", 1)]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert [record.getMessage() for record in told] == [f"reading {address}"]
    assert str(on_disk(address)) == address


def test_patterns_match_files_by_name(far, tmp_path):
    for number in "21":
        far(f"{number}.en", f"English {number}.\n".encode())
        far(f"{number}.fr", f"French {number}.\n".encode())
    sides = f"memory://{tmp_path}/*.en", f"memory://{tmp_path}/*.fr"
    assert [pair[:2] for pair in read_two(*sides)] == [(f"English {n}.", f"French {n}.") for n in "12"]
    for name in ("b.en", "a.en", "a.fr"):
        (tmp_path / name).write_text("x\n")
    assert matching(tmp_path / "*.en") == [str(tmp_path / "a.en"), str(tmp_path / "b.en")]
    assert matching("nothing*") == ["nothing*"]
    with pytest.raises(FormatError, match=r"names 2 files and .* names 1: the n-th of one"):
        parallel_files(tmp_path / "*.en", tmp_path / "*.fr")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("memory://nowhere/a", "memory://nowhere/a: there is no such file"),
        ("nosuch://a/b", "nosuch://a/b cannot be read"),
    ],
)
def test_what_is_not_there_is_said_with_its_address(address, said):
    with pytest.raises(FormatError, match=said):
        list(lines(address))


def test_mistakes_in_text_name_the_address(far):
    address = far("latin.txt", "été\n".encode("latin-1"))
    with pytest.raises(FormatError, match=rf"{address}, line 1: byte 0xe9"):
        list(lines(address))
