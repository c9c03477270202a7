"""Gold links of the pairs of a split, and the words of their tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from joined_words import GoldAlignment, split_words, word_indices
from seq2seq.common.progress import warn
from seq2seq.data.batch import EncodedSplit
from seq2seq.data.datamodule import Prepared
from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class GoldPair:
    """Gold links of a sentence pair, and the word indices of its tokens.

    Tokens are those without ``<eos>``, see `word_indices`.
    """

    gold: GoldAlignment
    source_words: list[range]
    target_words: list[range]


def gold_pair(
    pair: SentencePair, tokenizers: tuple[Tokenizer, Tokenizer], sizes: Sequence[int]
) -> GoldPair | None:
    """Return the gold links of a pair whose sides have at most `sizes` tokens; None without links.

    Raises:
        ValueError: The tokens do not spell the words.
    """
    if pair.alignment is None:
        return None
    source_words, target_words = (
        word_indices(tokenizer.tokens(text), split_words(tokenizer.prepared(text)))[:size]
        for tokenizer, text, size in zip(tokenizers, (pair.source, pair.target), sizes, strict=True)
    )
    return GoldPair(GoldAlignment.from_links(pair.alignment, pair.possible), source_words, target_words)


def gold_links(
    pair: SentencePair, tokenizers: tuple[Tokenizer, Tokenizer], sizes: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Return the gold links, source and target token index, of a pair; each token has those of its words.

    None without gold alignment, or if the tokens do not spell the words.
    """
    try:
        found = gold_pair(pair, tokenizers, sizes)
    except ValueError:
        found = None
    if found is None:
        return None
    return [
        (column, row)
        for column, source in enumerate(found.source_words)
        for row, target in enumerate(found.target_words)
        if not found.gold.possible.isdisjoint(product(source, target))
    ]


class GoldPairs:
    """The pairs of a split that have gold links, by their index.

    Pairs whose tokens do not spell their words are left out, with one warning: no link belongs to such a token.
    """

    def __init__(self, split: EncodedSplit, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        self._split, self._tokenizers = split, (source_tokenizer, target_tokenizer)
        self._pairs: dict[int, GoldPair | None] = {}
        self._has_warned = False

    @classmethod
    def of(cls, data: Prepared, split: str) -> "GoldPairs":
        """Return the pairs of a split of a corpus, such as ``train``."""
        return cls(data.splits[split], data.source_tokenizer, data.target_tokenizer)

    def get(self, index: int) -> GoldPair | None:
        """Return the pair with an index in the split; None without links, or if its tokens do not spell its words."""
        if index not in self._pairs:
            self._pairs[index] = self._made(index)
        return self._pairs[index]

    def _made(self, index: int) -> GoldPair | None:
        sizes = len(self._split.source[index]), len(self._split.target[index])
        try:
            return gold_pair(self._split.pairs[index], self._tokenizers, sizes)
        except ValueError as error:
            if not self._has_warned:
                warn(
                    f"data.tokenizer: {error}; such pairs are left out of guided alignment and of the "
                    "statistics of the alignment"
                )
            self._has_warned = True
            return None
