"""Subwords of SentencePiece."""

import copy
import io
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import sentencepiece

from joined_words import SPACE_MARK
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted, warn
from seq2seq.data.addresses import read_file
from seq2seq.data.tokenizers.tokenizer import Tokenizer
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID, SPECIALS, UNKNOWN_ID, vocabulary_size

SPACIOUS, USUAL_COVERAGE = 10, 0.9995
"""All characters of a text have pieces if there are so many for each of them; else those of SentencePiece's own share of it."""


UNKNOWN_MARK = "\u2585"
"""Stands for an unknown piece within SentencePiece."""


class SentencePieceTokenizer(Tokenizer):
    """Subwords of SentencePiece. ``join(split(text)) == text`` for every sentence that is clean, see `clean`.

    U+2581, which stands for a space in pieces, is read as a space.
    Characters that are not in the training text are encoded as bytes, so there are no unknown tokens.

    Args:
        model_type: ``unigram`` (Kudo 2018) or ``bpe`` (Sennrich et al. 2016).
        sampling: Exponent alpha of subword regularization with a unigram model: in every epoch each word gets
            one of its 64 most probable segmentations, drawn with probabilities raised to alpha (Kudo 2018);
            None: always the most probable one.
        split_digits: Each digit is a piece, so that figures that were never seen are copied.
        **options: Arguments of `Tokenizer`; if `vocab_size` is None, it follows the number of sentences.
    """

    has_subwords = True

    def __init__(
        self,
        *,
        model_type: str = "bpe",
        sampling: float | None = None,
        split_digits: bool = True,
        **options: Any,
    ) -> None:
        if model_type not in ("unigram", "bpe"):
            raise InputError(f"data.tokenizer.model_type={model_type}: choose unigram or bpe")
        if sampling is not None and model_type != "unigram":
            raise InputError("data.tokenizer.sampling needs model_type=unigram")
        self.model_type, self.sampling, self.split_digits = model_type, sampling, split_digits
        self.model: Any = None
        super().__init__(**options)

    def fit(self, texts: Iterable[str]) -> None:
        """Train a SentencePiece model on some sentences; warn of characters that have no piece.

        All have one where there are `SPACIOUS` pieces for each, else the most frequent ones.

        Raises:
            InputError: SentencePiece does not accept the vocabulary size for this text.
        """
        # SentencePiece leaves out sentences with its sign of an unknown piece without a word
        texts = [self.prepared(text).replace(UNKNOWN_MARK, " ") for text in texts]
        size = self.max_vocab_size or vocabulary_size(len(texts))
        characters = set[str]().union(*texts)
        content = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts),
                max_sentence_length=1 << 30,  # longer ones are left out without a word
                character_coverage=1.0 if SPACIOUS * len(characters) <= size else USUAL_COVERAGE,
                model_writer=content,
                model_type=self.model_type,
                vocab_size=size,
                hard_vocab_limit=False,
                split_digits=self.split_digits,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                byte_fallback=True,
                unk_id=UNKNOWN_ID, pad_id=PADDING_ID, bos_id=BEGIN_ID, eos_id=END_ID,
                unk_piece=SPECIALS[0], pad_piece=SPECIALS[1], bos_piece=SPECIALS[2], eos_piece=SPECIALS[3],
                num_threads=1,  # more threads give another, less reproducible model
                minloglevel=2,
            )  # fmt: skip
        except (RuntimeError, OSError) as error:
            needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
            reason = (
                f"its characters alone need {needed[1]}; give more" if needed else f"{error}".splitlines()[-1]
            )
            raise InputError(f"data.tokenizer.vocab_size={size} does not suit this text: {reason}") from error
        self._use(content.getvalue())
        if lost := self.unknown(" ".join(sorted(characters))):
            shown = " ".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in lost)
            warn(
                f"data.tokenizer: {counted(len(lost), 'character')} of the training text have no piece, and are spelled in bytes that "
                f"few sentences teach: {shown}; a vocab_size of {SPACIOUS * len(characters):,} has pieces for all"
            )

    def _use(self, content: bytes) -> None:
        self.model = sentencepiece.SentencePieceProcessor(model_proto=content)
        self.set_vocabulary([self.model.id_to_piece(index) for index in range(len(self.model))])

    def missing(self, texts: Iterable[str]) -> Counter[str]:
        """Count the characters that are spelled in bytes; all others have pieces."""
        return Counter(char for text in texts for char in self.unknown(text))

    def with_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """Return a tokenizer with further characters as pieces, less probable than all others."""
        from sentencepiece import sentencepiece_model_pb2

        schema: Any = sentencepiece_model_pb2  # whose classes are made when it is imported
        proto = schema.ModelProto.FromString(self.model.serialized_model_proto())
        least = min(piece.score for piece in proto.pieces)
        for place, token in enumerate(tokens, start=1):
            proto.pieces.add(piece=token, score=least - place)
        other = copy.copy(self)
        other._use(proto.SerializeToString())
        return other

    def prepared(self, text: str) -> str:
        """Return a sentence as `split` gets it."""
        return super().prepared(text.replace(SPACE_MARK, " "))

    def split(self, text: str) -> list[str]:
        """Return the pieces of a sentence."""
        return self.model.encode(text, out_type=str)

    def join(self, tokens: Sequence[str]) -> str:
        """Join pieces to the exact text."""
        return self.model.decode_pieces(list(tokens))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the pieces of many sentences."""
        return self.model.encode([self.prepared(text) for text in texts], out_type=int, num_threads=1)

    def unknown(self, text: str) -> list[str]:
        """Return the characters that are encoded as bytes because no piece contains them."""
        pieces = self.model.encode(self.prepared(text), return_type="proto").pieces
        return [each.surface for each in pieces if each.surface and self.model.is_byte(each.id)]

    def sample(self, text: str, seed: int) -> list[int]:
        """Return the ids of a sentence that is split at random; the result depends only on text and seed.

        (SentencePiece's own sampling cannot be repeated in another process, even with a seed.)
        """
        draw = Random(seed).random
        pieces, start, found = self.tokens(text), 0, []
        for place in range(1, len(pieces) + 1):
            if place == len(pieces) or pieces[place].startswith(SPACE_MARK):
                ways, sums = _ways(self.model, tuple(pieces[start:place]), float(self.sampling or 1.0))
                found += ways[bisect(sums, draw() * sums[-1])]
                start = place
        return self.ids(found)

    def save(self, folder: Path, side: str) -> None:
        """Write ``<side>.json`` and ``<side>.model``."""
        super().save(folder, side)
        (folder / f"{side}.model").write_bytes(self.model.serialized_model_proto())

    def read_model(self, folder: Path, side: str) -> None:
        """Read ``<side>.model``, whose pieces must be those of ``<side>.json``."""
        path, expected = folder / f"{side}.model", self.vocabulary
        try:
            self._use(read_file(path))
        except RuntimeError as error:
            raise InputError(f"{path} is no readable SentencePiece model") from error
        if self.vocabulary != expected:
            raise InputError(f"{path} holds other pieces than {side}.json")


@lru_cache(maxsize=1 << 17)
def _ways(model: Any, word: tuple[str, ...], alpha: float) -> tuple[list[list[str]], list[float]]:
    """Return the most probable segmentations of a word, and their cumulative probabilities."""
    surface = "".join(word)
    found = model.nbest_encode(surface[1:], nbest_size=64, return_type="proto").nbests
    ways = [[piece.piece for piece in way.pieces] for way in found]
    if not surface.startswith(SPACE_MARK) or any("".join(way) != surface for way in ways):
        return [list(word)], [1.0]  # not a whole word
    return ways, list(accumulate(exp(alpha * (way.score - found[0].score)) for way in found))
