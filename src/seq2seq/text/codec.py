"""One language side: its tokenizer and its vocabulary, saved and loaded together."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from seq2seq.errors import InputError
from seq2seq.plain_text import first_line
from seq2seq.storage.typed_json import encoded, read_json
from seq2seq.storage.writing import write_file
from seq2seq.text.casing import Casing
from seq2seq.text.corpus import SentencePair
from seq2seq.text.splitters import SPLITTERS, SUBWORDS, make_splitter
from seq2seq.text.tokenizers import SubwordTokenizer, WordTokenizer, train_sentencepiece
from seq2seq.text.torchtext_adapter import frequent_tokens
from seq2seq.text.vocabulary import SPECIALS, UNKNOWN_ID, Vocabulary

VERSION = 1
"""Of the format of a codec's description."""


@dataclass(frozen=True, slots=True)
class TextCodec:
    """Turns the text of one language into token ids and back.

    Attributes:
        tokenizer: text to tokens and back.
        vocabulary: tokens to ids and back.
        casing: gives lower-cased text its capital letters again; None to leave it.
    """

    tokenizer: WordTokenizer | SubwordTokenizer
    vocabulary: Vocabulary
    casing: Casing | None = None

    def encode(self, text: str) -> list[int]:
        """Token ids of a sentence, without ``<bos>`` and ``<eos>``.

        A special token that is written in the text is a word like any other, and unknown.
        """
        ids = self.vocabulary.ids(self.tokenizer.tokens(text))
        return [index if index >= len(SPECIALS) else UNKNOWN_ID for index in ids]

    def unknown(self, text: str) -> list[str]:
        """What the vocabulary lacks: words; of subwords, the characters that are spelt in bytes."""
        if isinstance(self.tokenizer, SubwordTokenizer):
            return self.tokenizer.in_bytes(text)
        tokens = self.tokenizer.tokens(text)
        ids = self.vocabulary.ids(tokens)
        return [each for each, index in zip(tokens, ids, strict=True) if index < len(SPECIALS)]

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        """`encode` of many sentences, which subwords do in half the time."""
        if isinstance(self.tokenizer, SubwordTokenizer):
            return self.tokenizer.ids(texts)
        return [self.encode(text) for text in texts]

    def sample(self, text: str, alpha: float, seed: int) -> list[int]:
        """Token ids of a sentence split at random, see `SubwordTokenizer.sampled_tokens`.

        Raises:
            InputError: words cannot be split otherwise.
        """
        if not isinstance(self.tokenizer, SubwordTokenizer):
            raise InputError("data.tokenizer.sampling needs subwords: choose unigram")
        return self.vocabulary.ids(self.tokenizer.sampled_tokens(text, alpha, seed))

    def decode(self, ids: Iterable[int]) -> str:
        """Text of token ids, one line; the special tokens except ``<unk>`` are left out."""
        kept = [index for index in ids if index >= len(SPECIALS) or index == UNKNOWN_ID]
        return self.text(self.vocabulary.words(kept))

    def text(self, tokens: Sequence[str]) -> str:
        """Text of tokens, one line, in the usual case where that is restored."""
        # subwords spell rare characters in bytes, of which one is a line feed
        text = self.tokenizer.text(tokens).replace("\n", " ")
        return text if self.casing is None else self.casing.restore(text)


@dataclass(frozen=True, slots=True)
class CodecSettings:
    """How to make the codecs of a corpus.

    Attributes:
        source_tokenizer: ``unigram``, ``bpe``, or a name in `splitters.SPLITTERS`.
        target_tokenizer: likewise.
        lowercase: lower-case the text first.
        joint: one vocabulary for both languages.
        min_frequency: words that are rarer become ``<unk>`` (subwords know no rare words).
        max_size: greatest vocabulary size; None for no bound (words only).
        restore_case: write translations in the case that is usual in the training split.
    """

    source_tokenizer: str
    target_tokenizer: str
    lowercase: bool
    joint: bool
    min_frequency: int
    max_size: int | None
    restore_case: bool = False


def train_codecs(
    pairs: Sequence[SentencePair], settings: CodecSettings, languages: tuple[str, str], folder: Path
) -> tuple[TextCodec, TextCodec]:
    """Make the source and the target codec from training pairs, and save them in `folder`.

    Raises:
        InputError: the settings do not go together, or do not suit the languages or the text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = (settings.source_tokenizer, settings.target_tokenizer)
    # a language that the second one refuses is refused before the first has read the corpus
    for name, language in zip(names, languages, strict=True):
        if name not in SUBWORDS:
            make_splitter(name, language)
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    texts = (sources, targets)
    if settings.joint:
        _require_one_tokenizer(names)
        texts = ([*sources, *targets], [*sources, *targets])
    paths = (folder / "source.model", folder / "target.model")
    source = _codec(settings, names[0], texts[0], languages[0], paths[0])
    if settings.joint and names[0] in SUBWORDS:
        target = _subword_codec(paths[0], languages[1], settings.lowercase)
    else:
        target = _codec(settings, names[1], texts[1], languages[1], paths[1])
    if settings.restore_case:
        target = replace(target, casing=Casing.learn(targets))
    save_codecs((source, target), folder)
    return source, target


def _require_one_tokenizer(names: tuple[str, str]) -> None:
    if names[0] != names[1]:
        raise InputError(
            f"data.tokenizer.joint=true needs one tokenizer, not {names[0]} and {names[1]}: "
            "set data.tokenizer.joint=false"
        )


def _codec(
    settings: CodecSettings, name: str, texts: Sequence[str], language: str, model: Path
) -> TextCodec:
    """The codec of one language, also where its vocabulary holds the other's words too."""
    max_size, lowercase = settings.max_size, settings.lowercase
    if name not in SUBWORDS:
        tokenizer = WordTokenizer(language=language, lowercase=lowercase, name=name)
        counts = Counter(token for text in texts for token in tokenizer.tokens(text))
        tokens = frequent_tokens(counts, min_frequency=settings.min_frequency, max_size=max_size)
        return TextCodec(tokenizer, Vocabulary(tokens))
    if max_size is None:
        raise InputError("data.tokenizer.max_size is needed for SentencePiece: for example 6000")
    content = train_sentencepiece(
        texts, algorithm=name, vocabulary_size=max_size, lowercase=lowercase
    )
    write_file(model, content)
    return _subword_codec(model, language, lowercase)


def _subword_codec(path: Path, language: str, lowercase: bool) -> TextCodec:
    tokenizer = SubwordTokenizer(path, language=language, lowercase=lowercase)
    return TextCodec(tokenizer, tokenizer.vocabulary())


def save_codecs(codecs: tuple[TextCodec, TextCodec], folder: Path) -> None:
    """Write ``<side>.json``, and ``<side>.model`` for subwords, into a folder, which is made."""
    for side, codec in zip(("source", "target"), codecs, strict=True):
        description, model = _saved(codec)
        if model is not None:
            write_file(folder / f"{side}.model", model)
        write_file(folder / f"{side}.json", encoded({"version": VERSION} | description))


def codec_digest(codec: TextCodec) -> str:
    """The same for codecs that are alike, another for others."""
    description, model = _saved(codec)
    content = json.dumps(description, ensure_ascii=False, indent=1)
    return hashlib.sha256(content.encode("utf-8") + (model or b"")).hexdigest()


def _saved(codec: TextCodec) -> tuple[dict[str, Any], bytes | None]:
    """All there is to a codec: its description, and its model for subwords."""
    description: dict[str, Any] = {
        "tokenizer": codec.tokenizer.name,
        "lowercase": codec.tokenizer.lowercase,
        "language": codec.tokenizer.language,
    }
    model = None
    if codec.casing is not None:
        description["casing"] = asdict(codec.casing)
    if isinstance(codec.tokenizer, WordTokenizer):
        description["tokens"] = codec.vocabulary.tokens
    else:
        model = codec.tokenizer.model.serialized_model_proto()
    return description, model


class _Description(Struct):
    """What ``<side>.json`` holds."""

    lowercase: bool
    tokenizer: str
    language: str = "en"  # folders written before subwords knew their language
    tokens: list[str] | None = None
    casing: Casing | None = None


def load_codecs(folder: Path) -> tuple[TextCodec, TextCodec]:
    """Read what `save_codecs` wrote.

    Raises:
        InputError: a file is missing or is not what it should be.
    """
    return load_codec(folder, "source"), load_codec(folder, "target")


def load_codec(folder: Path, side: str) -> TextCodec:
    """Read one side of what `save_codecs` wrote.

    Raises:
        InputError: a file is missing or is not what it should be.
    """
    path = folder / f"{side}.json"
    refusal, remedy = "is not a vocabulary of this program", "train again"
    description = read_json(path, _Description, version=VERSION, refusal=refusal, remedy=remedy)
    if description.tokenizer not in {*SPLITTERS.names(), SubwordTokenizer.name}:
        raise InputError(
            f"{path}: its tokenizer {description.tokenizer[:40]!r} is none of this program: "
            f"install the package that brings it, by the entry points {SPLITTERS.group}"
        )
    try:
        return _described(description, folder / f"{side}.model")
    except (ValueError, InputError) as error:
        raise InputError(f"{path} {refusal} ({first_line(error)}): {remedy}") from error


def _described(description: _Description, model: Path) -> TextCodec:
    language, lowercase = description.language, description.lowercase
    if description.tokenizer == "sentencepiece":
        codec = _subword_codec(model, language, lowercase)
        return replace(codec, casing=description.casing)
    tokenizer = WordTokenizer(language=language, lowercase=lowercase, name=description.tokenizer)
    return TextCodec(tokenizer, Vocabulary(description.tokens or ()), description.casing)
