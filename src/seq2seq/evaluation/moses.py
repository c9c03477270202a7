"""Text as most published results on Multi30k and IWSLT were scored."""

from collections.abc import Sequence
from functools import cache

from sacremoses import MosesPunctNormalizer, MosesTokenizer


def moses_tokens(sentences: Sequence[str], language: str, *, split_hyphens: bool) -> list[str]:
    """Lower-cased, punctuation normalised, split by Moses's rules; tokens joined by spaces.

    As nmtpytorch prepares Multi30k. Languages that Moses has no rules for are split by those of
    English.

    Args:
        sentences: ordinary text.
        language: code of their language.
        split_hyphens: whether hyphens between words are tokens of their own: nmtpytorch trains on
            such tokens, and joins them again before it scores.
    """
    normalise, tokenise = _tools(language)
    return [
        tokenise.tokenize(
            normalise.normalize(sentence.lower()),
            aggressive_dash_splits=split_hyphens,
            escape=False,
            return_str=True,
        )
        for sentence in sentences
    ]


@cache
def _tools(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    """Made once a language: they read files and compile many expressions."""
    return MosesPunctNormalizer(language), MosesTokenizer(language)
