import pytest

from seq2seq.errors import InputError
from seq2seq.storage.plain_yaml import load_plain_yaml
from tests.torture.strangers import traps

HARMLESS = {
    "strings", "own strings", "cycle", "sections", "timestamp", "a list", "a word", "nothing",
    "ESC", "ESC in a key", "header", "odd header", "twice",
}  # fmt: skip
"""What is a small value all the same."""


@pytest.mark.parametrize("name", sorted(traps().keys() - HARMLESS))
def test_a_trap_in_yaml_is_one_line_and_nothing_is_built(tmp_path, name):
    text = traps()[name]
    (tmp_path / "x.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=r"x\.yaml is no plain YAML") as caught:
        load_plain_yaml(tmp_path / "x.yaml")
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()


def test_what_is_no_file_is_not_waited_for(tmp_path):
    (tmp_path / "x.yaml").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="no regular file"):
        load_plain_yaml(tmp_path / "x.yaml")
