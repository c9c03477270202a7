"""Files at addresses, which fsspec opens: read as files on the disk are, or refused in one line."""

import gzip
import io
import zipfile

import fsspec
import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import LargeText, MultilingualText
from seq2seq.data.files import columns_of, read_pairs, read_split
from seq2seq.data.text import read_links

COLUMNS = columns_of("en", "fr", None, None)
TABLE = b"A dog.\tUn chien.\nHe runs.\tIl court.\n"


def opus():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.en-fr.en", "A dog.\nHe runs.\n")
        archive.writestr("X.en-fr.fr", "Un chien.\nIl court.\n")
    return file.getvalue()


@pytest.fixture
def far(tmp_path):
    """Put a file at an address, and return the address."""

    def put(name, content):
        address = f"memory://{tmp_path}/{name}"
        with fsspec.open(address, "wb") as file:
            file.write(content)
        return address

    return put


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", TABLE),
        ("a.tsv.gz", gzip.compress(TABLE, mtime=0)),
        ("a.csv", b"en,fr\nA dog.,Un chien.\nHe runs.,Il court.\n"),
        ("a.zip", opus()),
    ],
)
def test_pairs_are_read_as_from_a_disk(name, content, far):
    pairs = [("A dog.", "Un chien."), ("He runs.", "Il court.")]
    assert [(pair.source, pair.target) for pair in read_pairs(far(name, content), COLUMNS)] == pairs
    split = read_split("data.train", {"source": far(f"again_{name}", content)}, COLUMNS)
    assert [(pair.source, pair.target) for pair in split] == pairs


def test_two_files_and_patterns_of_several(far, tmp_path):
    for number in "21":
        far(f"{number}.en", f"English {number}.\n".encode())
        far(f"{number}.fr", f"French {number}.\n".encode())
    files = {side: f"memory://{tmp_path}/*.{code}" for side, code in (("source", "en"), ("target", "fr"))}
    assert [pair.target for pair in read_split("data.train", files, COLUMNS)] == ["French 1.", "French 2."]
    files = {side: path.replace("*", "2") for side, path in files.items()}
    assert [pair.source for pair in read_split("data.train", files, COLUMNS)] == ["English 2."]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("memory://nowhere/a.tsv", "memory://nowhere/a.tsv: there is no such file"),
        ("memory://nowhere/*.tsv", "there is no such file"),
        ("nosuch://a/b.tsv", "nosuch://a/b.tsv cannot be read"),
        ("http://127.0.0.1:9/a.tsv", "http://127.0.0.1:9/a.tsv"),
        ("file:///", "folder"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_address(address, said):
    with pytest.raises(InputError) as caught:
        read_pairs(address, COLUMNS)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_large_text_is_on_a_disk(far):
    files = {"source": far("a.en", b"A.\n"), "target": far("a.fr", b"B.\n")}
    corpus = LargeText(train=files, validation=files, source_language="en", target_language="fr")
    with pytest.raises(InputError, match="several times"):
        corpus.read()


def test_commands_read_addresses(program, tmp_path):
    (tmp_path / "pairs.tsv").write_bytes(b"".join(b"Word %d.\tMot %d.\n" % (i, i) for i in range(40)))
    keys = ["data=tsv", "data.source_language=en", "data.target_language=fr", "data.split.validation=8",
            "data.split.test=0"]  # fmt: skip
    address = (tmp_path / "pairs.tsv").as_uri()
    done = program(*keys, f"data.file={address}", command="data-report", cwd=tmp_path, check=0)
    assert "32" in done.text
    done = program(*keys, f"data.file={address}x", command="data-report", cwd=tmp_path)
    assert done.status == 2
    assert f"{address}x: there is no such file" in done.text


def test_other_files_of_a_training_may_be_at_addresses(far, tmp_path):
    address = far("links.txt", b"0-0\n")
    assert read_links(address) == [(((0, 0),), ())]
    side = {"source": far("x.en", b"A.\n"), "target": far("x.fr", b"B.\n")}
    corpus = MultilingualText(corpora={"en-fr": {"train": side, "validation": side}}, root=str(tmp_path))
    assert [pair.target for pair in corpus.read().train] == ["B."]
