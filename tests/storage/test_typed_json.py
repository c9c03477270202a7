import json
import os

import pytest
from msgspec import Struct

from seq2seq.errors import InputError
from seq2seq.storage.typed_json import (
    MOST_BYTES,
    Count,
    Number,
    Value,
    converted,
    decoded,
    encoded,
    read_json,
)


class Thing(Struct):
    count: Count
    number: Number | None = None
    values: dict[str, Value] = {}
    version: int = 1


def read(path, check=None):
    return read_json(path, Thing, version=1, refusal="is no thing", remedy="make one", check=check)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "thing.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"count": "x"}', "count: Expected int, got str"),
        ('{"count": true}', "count: Expected int, got bool"),
        ('{"count": -1}', "count: Expected int >= 0"),
        ('{"count": 1%s}' % ("0" * 400), "count: Expected int <= "),
        ('{"count": 1, "number": 1%s}' % ("0" * 400), "number: Number out of range"),
        ('{"count": 1, "number": 1e300}', "number: Expected float <= 1e"),
        ("{}", "missing required field count"),
        ('{"count": 1, "values": {"x": [[[1]]]}}', "values"),
        ('{"count": 1, "new": %s' % ("[" * 100_000), "is no thing"),
        ('{"count": 1, "values": {"x": "\\ud800"}}', "is no thing"),
        ('{"count": NaN}', "count: Expected int, got null"),
        ("", "is no thing"),
        ("[]", "got array"),
    ],
)
def test_what_does_not_fit_is_one_line_with_file_field_and_remedy(path, text, message):
    path.write_text(text)
    with pytest.raises(InputError, match="make one") as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path} is no thing (")
    assert message in said
    assert "\n" not in said
    assert len(said) < 500


def test_another_version_names_both_even_where_nothing_else_is_known(path):
    path.write_text('{"version": 7, "else": 1}')
    with pytest.raises(InputError, match=r"is version 7, this program reads version 1: make one"):
        read(path)


def test_a_file_from_before_versions_is_of_the_first(path):
    path.write_text('{"count": 1}')
    assert read(path) == Thing(1)


def test_nan_is_written_as_null_and_read_from_old_files(path):
    assert json.loads(encoded(Thing(1, float("nan"), {"a": float("inf")}))) == {
        "count": 1, "number": None, "values": {"a": None}, "version": 1,
    }  # fmt: skip
    path.write_text('{"count": 1, "number": NaN, "values": {"a": -Infinity, "b": "NaN"}}')
    assert read(path) == Thing(1, None, {"a": None, "b": "NaN"})


def test_what_is_written_is_read_again(path):
    thing = Thing(3, 0.1, {"é": [1, 2.5, None], "b": {"c": "\x1b"}})
    path.write_text(encoded(thing))
    assert read(path) == thing
    assert "é" in path.read_text()


def test_a_pipe_a_folder_and_a_file_without_end_are_refused(path, tmp_path):
    os.mkfifo(path)
    with pytest.raises(InputError, match="no regular file"):
        read(path)
    with pytest.raises(InputError, match="no regular file"):
        read(tmp_path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(InputError, match="more than 67,108,864 bytes"):
        read(path)
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "absent")


def test_what_a_type_cannot_say_is_checked(path):
    def refuse(thing):
        raise ValueError(f"count: {thing.count} is odd")

    path.write_text('{"count": 1}')
    with pytest.raises(InputError, match="count: 1 is odd"):
        read(path, refuse)


def test_plain_values_are_held_to_the_same_types():
    assert converted({"count": 2}, Thing) == Thing(2)
    for wrong in ({"count": 1.5}, {}, None, [1], {"count": object()}):
        with pytest.raises(ValueError, match=r"count|object"):
            converted(wrong, Thing)
    with pytest.raises(ValueError, match="deep"):
        decoded(b'{"values": ' + b'{"a": ' * 100_000, Thing)
