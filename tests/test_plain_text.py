import pytest

from seq2seq.plain_text import one_line


@pytest.mark.parametrize("sign", [*range(9), *range(14, 28), *range(127, 133), 155, 0x202E, 0xD800])
def test_no_control_sign_is_left(sign):
    assert one_line(f"a{chr(sign)}b") == "a\ufffdb"


@pytest.mark.parametrize("space", ["\n", "\r\n", "\t", "\x0b", "\x85", "\u2028"])
def test_a_text_is_one_line(space):
    assert one_line(f"a{space}b") == "a b"


def test_text_of_any_script_stays():
    text = "Œuvre « à » 日本 עברית 👩‍🚀 [red] e\u0301 \u00a0"
    assert one_line(text) == text
