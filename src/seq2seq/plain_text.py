"""Text of a file, made fit for a terminal, which obeys the control signs in it."""

import re

SPACES = re.compile(r"[\t-\r\x1c-\x1f\x85\u2028\u2029]+")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""ESC, BEL and others of their kind, signs that turn the order of text round, half surrogates."""


def one_line(text: str) -> str:
    """Text as one line that moves nothing but the cursor to its end."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", SPACES.sub(" ", text))


def shortened(said: object, most: int = 300) -> str:
    """What a file holds, or somebody else's error says, as one line of bounded length."""
    text = one_line(" ".join(str(said).split())) or type(said).__name__
    return text if len(text) <= most else f"{text[:most]}…"


def first_line(error: BaseException) -> str:
    """What somebody else's error says, whose other lines are for their own developers."""
    said = str(error) or str(error.__cause__ or type(error).__name__)
    return shortened(said.strip().partition("\n")[0])
