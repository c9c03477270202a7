"""Text that is tokenized already."""

from collections.abc import Sequence

from seq2seq.data.tokenizers.tokenizer import Tokenizer


class WhitespaceTokenizer(Tokenizer):
    """Tokens separated by white space, for text that is already tokenized."""

    def split(self, text: str) -> list[str]:
        """Return the tokens between white space."""
        return text.split()

    def join(self, tokens: Sequence[str]) -> str:
        """Join tokens with spaces."""
        return " ".join(tokens)
