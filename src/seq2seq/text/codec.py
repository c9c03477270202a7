"""One language side: its tokenizer and its vocabulary, saved and loaded together."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.text.tokenizers import (
    SubwordTokenizer,
    WordTokenizer,
    train_sentencepiece,
    word_vocabulary,
)
from seq2seq.text.vocabulary import SPECIALS, UNKNOWN_ID, Vocabulary


@dataclass(frozen=True, slots=True)
class TextCodec:
    """Turns the text of one language into token ids and back."""

    tokenizer: WordTokenizer | SubwordTokenizer
    vocabulary: Vocabulary

    def encode(self, text: str) -> list[int]:
        """Token ids of a sentence, without ``<bos>`` and ``<eos>``."""
        return self.vocabulary.ids(self.tokenizer.tokens(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Text of token ids, one line; the special tokens except ``<unk>`` are left out."""
        kept = [index for index in ids if index >= len(SPECIALS) or index == UNKNOWN_ID]
        # subwords spell rare characters in bytes, of which one is a line feed
        return self.tokenizer.text(self.vocabulary.words(kept)).replace("\n", " ")


@dataclass(frozen=True, slots=True)
class CodecSettings:
    """How to make the codecs of a corpus.

    Attributes:
        tokenizer: ``word``, ``unigram`` or ``bpe``.
        lowercase: lower-case the text first.
        joint: one vocabulary for both languages.
        min_frequency: words that are rarer become ``<unk>`` (subwords know no rare words).
        max_size: greatest vocabulary size; None for no bound (words only).
    """

    tokenizer: str
    lowercase: bool
    joint: bool
    min_frequency: int
    max_size: int | None


def train_codecs(
    settings: CodecSettings,
    *,
    sources: Sequence[str],
    targets: Sequence[str],
    languages: tuple[str, str],
    folder: Path,
) -> tuple[TextCodec, TextCodec]:
    """Make the source and the target codec from the training split, and save them in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, Sequence[str]] = (
        {"source": [*sources, *targets], "target": [*sources, *targets]}
        if settings.joint
        else {"source": sources, "target": targets}
    )
    if settings.tokenizer == "word":
        codecs = _word_codecs(settings, texts, languages)
    else:
        codecs = _subword_codecs(settings, texts, folder)
    for side, codec in zip(("source", "target"), codecs, strict=True):
        save_codec(codec, folder, side)
    return codecs


def _word_codecs(
    settings: CodecSettings, texts: dict[str, Sequence[str]], languages: tuple[str, str]
) -> tuple[TextCodec, TextCodec]:
    """One word codec a language, with its own tokenizer even where the vocabulary is joint."""

    def make(side: str, language: str) -> TextCodec:
        tokenizer = WordTokenizer(language=language, lowercase=settings.lowercase)
        vocabulary = word_vocabulary(
            tokenizer,
            texts[side],
            min_frequency=settings.min_frequency,
            max_size=settings.max_size,
        )
        return TextCodec(tokenizer, vocabulary)

    return make("source", languages[0]), make("target", languages[1])


def _subword_codecs(
    settings: CodecSettings, texts: dict[str, Sequence[str]], folder: Path
) -> tuple[TextCodec, TextCodec]:
    """Train SentencePiece on each side, or once on both where the vocabulary is joint."""
    if settings.max_size is None:
        raise InputError("data.tokenizer.max_size is needed for SentencePiece: for example 6000")

    def train(side: str) -> bytes:
        return train_sentencepiece(
            texts[side],
            algorithm=settings.tokenizer,
            vocabulary_size=settings.max_size or 0,
            lowercase=settings.lowercase,
        )

    source = train("source")
    models = {"source": source, "target": source if settings.joint else train("target")}
    for side, content in models.items():
        (folder / f"{side}.model").write_bytes(content)
    return (
        _subword_codec(folder / "source.model", lowercase=settings.lowercase),
        _subword_codec(folder / "target.model", lowercase=settings.lowercase),
    )


def _subword_codec(path: Path, *, lowercase: bool) -> TextCodec:
    tokenizer = SubwordTokenizer(path, lowercase=lowercase)
    return TextCodec(tokenizer, tokenizer.vocabulary())


def save_codec(codec: TextCodec, folder: Path, side: str) -> None:
    """Write ``<side>.json``, and ``<side>.model`` for subwords, into a folder."""
    description: dict[str, Any] = {"lowercase": codec.tokenizer.lowercase}
    if isinstance(codec.tokenizer, WordTokenizer):
        description |= {"tokenizer": "word", "language": codec.tokenizer.language}
        description["tokens"] = codec.vocabulary.tokens
    else:
        description["tokenizer"] = "sentencepiece"
        content = codec.tokenizer.model.serialized_model_proto()
        (folder / f"{side}.model").write_bytes(content)
    text = json.dumps(description, ensure_ascii=False, indent=1)
    (folder / f"{side}.json").write_text(text, encoding="utf-8")


def load_codec(folder: Path, side: str) -> TextCodec:
    """Read what `save_codec` wrote.

    Raises:
        InputError: a file is missing or is not what it should be.
    """
    path = folder / f"{side}.json"
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        if description["tokenizer"] == "sentencepiece":
            return _subword_codec(folder / f"{side}.model", lowercase=description["lowercase"])
        tokenizer = WordTokenizer(
            language=description["language"], lowercase=description["lowercase"]
        )
        return TextCodec(tokenizer, Vocabulary(description["tokens"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a vocabulary of this program ({error})") from error
