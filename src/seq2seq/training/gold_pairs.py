"""Gold links of the pairs of a split, and the words of their tokens."""

from dataclasses import dataclass

from seq2seq.common.progress import warn
from seq2seq.data.batch import EncodedSplit
from seq2seq.data.datamodule import Prepared
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.words import split_words
from seq2seq.evaluation.alignment import GoldAlignment, word_indices


@dataclass(frozen=True, slots=True)
class GoldPair:
    """Gold links of a sentence pair, and the word indices of its tokens.

    Tokens are those without ``<eos>``, see `word_indices`.
    """

    gold: GoldAlignment
    source_words: list[range]
    target_words: list[range]


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
        pair = self._split.pairs[index]
        if pair.alignment is None:
            return None
        sides = (pair.source, self._split.source[index]), (pair.target, self._split.target[index])
        try:
            source_words, target_words = (
                word_indices(tokenizer.tokens(text), split_words(tokenizer.prepared(text)))[: len(ids)]
                for tokenizer, (text, ids) in zip(self._tokenizers, sides, strict=True)
            )
        except ValueError as error:
            if not self._has_warned:
                warn(
                    f"data.tokenizer: {error}; such pairs are left out of guided alignment and of the "
                    "statistics of the alignment"
                )
            self._has_warned = True
            return None
        return GoldPair(GoldAlignment.from_links(pair.alignment, pair.possible), source_words, target_words)
