"""Characters."""

from collections.abc import Sequence

from seq2seq.data.tokenizers.tokenizer import Tokenizer


class CharacterTokenizer(Tokenizer):
    """Characters."""

    def split(self, text: str) -> list[str]:
        """Return the characters."""
        return list(text)

    def join(self, tokens: Sequence[str]) -> str:
        """Join characters."""
        return "".join(tokens)
