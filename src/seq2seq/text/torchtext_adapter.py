"""All that this project takes from torchtext 0.6.0, the last release that loads with today's torch.

Its downloaders, archive extraction and vector caches are not used: they fetch over plain http,
check nothing, and unpickle what they find.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchtext.data.functional import load_sp_model, sentencepiece_tokenizer
from torchtext.data.utils import get_tokenizer
from torchtext.vocab import Vocab

from seq2seq.text.vocabulary import SPECIALS


def basic_english_splitter() -> Callable[[str], list[str]]:
    """``basic_english``: lower-cased, simple punctuation apart, quotes, colons, semicolons gone."""
    return get_tokenizer("basic_english")


def whitespace_splitter() -> Callable[[str], list[str]]:
    """The words between white space, as torchtext splits where no tokenizer is named."""
    return get_tokenizer(None)


def frequent_tokens(counts: Counter[str], *, min_frequency: int, max_size: int | None) -> list[str]:
    """Tokens of a vocabulary: the specials, then the others by falling frequency.

    Those rarer than `min_frequency` are left out; `max_size` bounds their number.
    """
    vocabulary = Vocab(counts, max_size=max_size, min_freq=min_frequency, specials=list(SPECIALS))
    return list(vocabulary.itos)


def load_sentencepiece(path: Path) -> Any:
    """Load a SentencePiece model file into its processor."""
    return load_sp_model(str(path))


def sentencepiece_splitter(processor: Any) -> Callable[[str], list[str]]:
    """Text -> pieces, through torchtext's SentencePiece tokenizer."""
    split = sentencepiece_tokenizer(processor)
    return lambda text: next(iter(split([text])))
