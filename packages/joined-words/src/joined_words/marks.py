"""The marks of spaces that tokens carry, and tokens as people read them."""

SPACE_MARK = "\N{LOWER ONE EIGHTH BLOCK}"
"""How SentencePiece writes a space; the first piece of every word begins with it."""

JOINT = "\N{HALFWIDTH BLACK SQUARE}"
"""On a side of a word that has no space there, or has one where Chinese or Japanese has none; see `split_with_joints`."""

ESCAPED = "\ufff9"
"""Stands for `JOINT` of a text, in a token; no clean text has it."""


def shown(token: str, space: str = "·") -> str:
    """Return a token as people read it: without `JOINT`, and with `space` in the place of `SPACE_MARK`."""
    return (token.strip(JOINT) or token).replace(ESCAPED, JOINT).replace(SPACE_MARK, space)
