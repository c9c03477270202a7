"""Text -> tokens -> text, for words and for SentencePiece subwords."""

import io
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random

import sentencepiece

from seq2seq.errors import InputError
from seq2seq.storage.typed_json import open_regular
from seq2seq.text.splitters import make_splitter
from seq2seq.text.torchtext_adapter import load_sentencepiece, sentencepiece_splitter
from seq2seq.text.vocabulary import (
    BEGIN,
    BEGIN_ID,
    END,
    END_ID,
    PADDING,
    PADDING_ID,
    SPACE_MARK,
    SPECIALS,
    UNKNOWN,
    UNKNOWN_ID,
    Vocabulary,
)

NUM_WAYS = 64
"""Ways to split a word that sampling chooses from."""


class WordTokenizer:
    """Words, or characters, by a named splitter; case is kept unless `lowercase`.

    Raises:
        InputError: the splitter does not know the language.
    """

    def __init__(self, *, language: str, lowercase: bool, name: str = "word") -> None:
        self.name = name
        self.language = language
        self.lowercase = lowercase
        self._splitter = make_splitter(name, language)

    def tokens(self, text: str) -> list[str]:
        """Split a sentence."""
        return self._splitter.split(text.lower() if self.lowercase else text)

    def text(self, tokens: Sequence[str]) -> str:
        """Join tokens by the rules of the splitter and the language."""
        return self._splitter.join(tokens)


class SubwordTokenizer:
    """SentencePiece pieces. `text(tokens(sentence)) == sentence` for every sentence.

    (U+2581, SentencePiece's own space mark, comes back as a space.)
    """

    name = "sentencepiece"

    def __init__(self, model_file: Path, *, language: str, lowercase: bool) -> None:
        self.language = language
        self.lowercase = lowercase
        self.model = _load_model(model_file)
        self._split = sentencepiece_splitter(self.model)

    def tokens(self, text: str) -> list[str]:
        """Split a sentence into pieces."""
        return self._split(text.lower() if self.lowercase else text)

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Ids of the pieces of many sentences, as `vocabulary` numbers them."""
        lowered = [text.lower() for text in texts] if self.lowercase else texts
        return self.model.encode(lowered, out_type=int, num_threads=1)

    def in_bytes(self, text: str) -> list[str]:
        """The characters of a sentence that no piece holds, so that they are spelt in bytes."""
        lowered = text.lower() if self.lowercase else text
        pieces = self.model.encode(lowered, return_type="proto").pieces
        # the last byte of a character has it as its surface, the others have nothing
        return [p.surface for p in pieces if p.surface and self.model.is_byte(p.id)]

    def sampled_tokens(self, text: str, alpha: float, seed: int) -> list[str]:
        """Split a sentence in one of many ways, drawn at random; the text is the same again.

        Every word is split in one of its `NUM_WAYS` most probable ways, with probabilities raised
        to alpha: the words of a unigram model are independent (Kudo 2018). (SentencePiece's own
        sampling cannot be repeated in another process, whatever its seed.)

        Args:
            text: the sentence.
            alpha: 0 makes all ways alike, 1 leaves their probabilities.
            seed: of the draw.

        Raises:
            InputError: the pieces are not those of a unigram model.
        """
        draw = Random(seed).random
        return [
            piece
            for word in _words(self.tokens(text))
            for piece in _drawn(_ways(self.model, word, alpha), draw())
        ]

    def text(self, tokens: Sequence[str]) -> str:
        """Put pieces together again, exactly."""
        return self.model.decode_pieces(list(tokens))

    def vocabulary(self) -> Vocabulary:
        """All pieces of the model, in the order of their ids."""
        return Vocabulary([self.model.id_to_piece(index) for index in range(len(self.model))])


def _words(pieces: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The pieces of one word after another; a word begins with a space mark."""
    start = 0
    for place in range(1, len(pieces) + 1):
        if place == len(pieces) or pieces[place].startswith(SPACE_MARK):
            yield tuple(pieces[start:place])
            start = place


Ways = tuple[list[list[str]], list[float]]
"""Ways to split a word, and the sums of their probabilities up to each."""


@lru_cache(maxsize=1 << 17)
def _ways(
    model: "sentencepiece.SentencePieceProcessor", word: tuple[str, ...], alpha: float
) -> Ways:
    """The most probable ways to split a word; only the usual one of what is no whole word."""
    surface = "".join(word)
    try:
        found = model.nbest_encode(surface[1:], nbest_size=NUM_WAYS, return_type="proto").nbests
    except RuntimeError as error:  # a model of merges, as the one of init_from may be
        raise InputError("data.tokenizer.sampling needs a vocabulary of unigram") from error
    ways = [[piece.piece for piece in way.pieces] for way in found]
    if not surface.startswith(SPACE_MARK) or any("".join(way) != surface for way in ways):
        return [list(word)], [1.0]
    probabilities = [exp(alpha * (way.score - found[0].score)) for way in found]
    return ways, list(accumulate(probabilities))


def _drawn(ways: Ways, point: float) -> list[str]:
    """The way at a point between 0 and 1."""
    splits, sums = ways
    return splits[bisect(sums, point * sums[-1])]


def _load_model(path: Path) -> "sentencepiece.SentencePieceProcessor":
    """Load a SentencePiece model and check that it is one of ours."""
    try:
        open_regular(path).close()
        model = load_sentencepiece(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path} is not a readable SentencePiece model: train again") from error
    first = tuple(model.id_to_piece(index) for index in range(min(len(SPECIALS), len(model))))
    if first != SPECIALS:
        raise InputError(f"{path}: its first pieces are {first}, not {SPECIALS}")
    return model


def train_sentencepiece(
    sentences: Iterable[str], *, algorithm: str, vocabulary_size: int, lowercase: bool
) -> bytes:
    """Train a SentencePiece model; returns the content of its model file.

    The settings make the round trip exact: no normalisation, white space kept, characters that
    the training text lacks spelt in bytes.

    Args:
        sentences: the training split.
        algorithm: ``unigram`` (Kudo 2018) or ``bpe`` (Sennrich et al. 2016).
        vocabulary_size: number of pieces, specials and 256 bytes included; fewer where the text
            does not hold as many.
        lowercase: train on the lower-cased text.

    Raises:
        InputError: SentencePiece refuses the size for this text.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line.lower() if lowercase else line for line in sentences),
            model_writer=model,
            model_type=algorithm,
            vocab_size=vocabulary_size,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            byte_fallback=True,
            unk_id=UNKNOWN_ID,
            pad_id=PADDING_ID,
            bos_id=BEGIN_ID,
            eos_id=END_ID,
            unk_piece=UNKNOWN,
            pad_piece=PADDING,
            bos_piece=BEGIN,
            eos_piece=END,
            num_threads=1,  # more threads give another, less reproducible model
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise InputError(_unsuitable_size(vocabulary_size, str(error))) from error
    return model.getvalue()


REQUIRED = re.compile(r"required_chars\. \d+ vs (\d+)")
"""Where SentencePiece says how many characters and special pieces a text needs."""


def _unsuitable_size(size: int, reason: str) -> str:
    if needed := REQUIRED.search(reason):
        return (
            f"data.tokenizer.max_size={size} does not suit this text: "
            f"its characters alone need {needed[1]}; give more"
        )
    last = next(reversed(reason.strip().splitlines()), "no reason given")
    return f"data.tokenizer.max_size={size} does not suit this text ({last}): give another size"
