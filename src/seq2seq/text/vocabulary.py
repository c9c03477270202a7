"""Tokens and their ids."""

from collections.abc import Iterable, Sequence

UNKNOWN, PADDING, BEGIN, END = "<unk>", "<pad>", "<bos>", "<eos>"
SPECIALS = (UNKNOWN, PADDING, BEGIN, END)
UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID = range(4)

SPACE_MARK = "\N{LOWER ONE EIGHTH BLOCK}"
"""How SentencePiece writes a space; the first piece of every sentence begins with it."""


class Vocabulary:
    """A fixed list of tokens, the four specials first; a token's id is its place in the list.

    Raises:
        ValueError: the list does not begin with the specials, or holds a token twice.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"a vocabulary begins with {SPECIALS}, not {tuple(tokens[:4])}")
        self.tokens = tuple(tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            raise ValueError("a vocabulary holds each token once")

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens; a token that the vocabulary lacks becomes ``<unk>``."""
        return [self._ids.get(token, UNKNOWN_ID) for token in tokens]

    def words(self, ids: Iterable[int]) -> list[str]:
        """Tokens of ids."""
        return [self.tokens[index] for index in ids]
