"""Tokenizers: text to token ids and back, each with its vocabulary.

Your own tokenizer is a subclass of `Tokenizer` with `split` and `join`, named by `_target_`.
"""

import copy
import io
import json
import os
import re
import stat
from abc import ABC, abstractmethod
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import accumulate, groupby
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import sentencepiece

from seq2seq.common.arguments import without_unknown
from seq2seq.common.counted import counted
from seq2seq.common.files import on_disk
from seq2seq.common.marks import SPACE_MARK, shown
from seq2seq.common.numbers import Positive
from seq2seq.common.progress import warn
from seq2seq.common.trust import require_trusted
from seq2seq.data.casing import Casing
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.data.vocabulary import (
    BEGIN_ID,
    END_ID,
    PADDING_ID,
    SPECIALS,
    UNKNOWN,
    UNKNOWN_ID,
    vocabulary_size,
)
from seq2seq.data.words import LETTERS, clean, join_with_joints, lowered, split_with_joints, split_words
from seq2seq.errors import InputError

MAX_TOKENS, MAX_FILE = 500_000, 64 * 2**20
"""Limits of a vocabulary that is read from a file: tokens, and bytes of the file."""


def read_file(path: Path, limit: int = MAX_FILE) -> bytes:
    """Return the content of a file; InputError: it is a pipe or a device, or has more than `limit` bytes."""
    flag = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and len(content := file.read(limit + 1)) <= limit:
            return content
    raise InputError(f"{path.name} is no regular file of {limit:,} bytes at most")


def read_json(path: Path, limit: int = MAX_FILE) -> Any:
    """Return the content of a JSON file; errors are those of `read_file`, ValueError and RecursionError."""
    found = json.loads(read_file(path, limit).decode())
    json.dumps(found, ensure_ascii=False).encode()  # refuses half of a surrogate pair
    return found


class Tokenizer(ABC):
    """Converts the text of one language to token ids and back.

    Text is cleaned first, see `clean`: in training, in translating and on both sides of a pair.

    Args:
        language: Code of the language, such as ``en``.
        lowercase: Lower-case the text first.
        truecase: Restore the case in translations, as `learn_case` has learned it (only with `lowercase`).
        min_frequency: Tokens that are less frequent become ``<unk>``.
        vocab_size: Maximum number of tokens, the four special tokens included; None for no limit.

    Attributes:
        vocabulary: The tokens by id, the special tokens first.
        arguments: The arguments of the constructor.
        has_subwords: Whether a token may be a part of a word, with marks of its own.
    """

    arguments: dict[str, Any]
    has_subwords = False

    def __new__(cls, **arguments: Any) -> "Tokenizer":
        """Store the constructor's arguments for `save`."""
        made = super().__new__(cls)
        made.arguments = arguments
        return made

    def __init__(
        self,
        *,
        language: str = "und",
        lowercase: bool = False,
        truecase: bool = False,
        min_frequency: Positive = 1,
        vocab_size: int | None = None,
    ) -> None:
        for name, value, kind in (
            ("language", language, str),
            ("lowercase", lowercase, bool),
            ("truecase", truecase, bool),
        ):
            if not isinstance(value, kind):
                expected = "a text" if kind is str else "true or false"
                raise InputError(f"data.tokenizer.{name}={value!s:.40}: expected {expected}")
        self.language, self.lowercase = language, lowercase
        self.truecase = truecase and lowercase
        if vocab_size is not None and vocab_size <= len(SPECIALS):
            raise InputError(
                f"data.tokenizer.vocab_size={vocab_size}: {len(SPECIALS)} tokens are special: give more"
            )
        self.min_frequency, self.max_vocab_size = min_frequency, vocab_size
        self.casing = Casing()
        self.casings: dict[str, Casing] = {}  # by language, of text in several
        self.set_vocabulary(SPECIALS)

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Return the tokens of a sentence."""

    @abstractmethod
    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens: the inverse of `split`, as far as `split` keeps the information."""

    def set_vocabulary(self, tokens: Sequence[str]) -> None:
        """Set the vocabulary, which begins with the special tokens.

        Raises:
            InputError: The special tokens are missing, a token is repeated, or there are too many tokens.
        """
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise InputError(f"a vocabulary begins with {', '.join(SPECIALS)}")
        if len(tokens) > MAX_TOKENS:
            raise InputError(f"a vocabulary of {len(tokens):,} tokens is too large: {MAX_TOKENS:,} at most")
        self.vocabulary = list(tokens)
        self._ids = {token: index for index, token in enumerate(tokens)}
        if len(self._ids) != len(tokens):
            raise InputError("a vocabulary holds each token once")

    def fit(self, texts: Iterable[str]) -> None:
        """Set the vocabulary to the most frequent tokens of some sentences."""
        self.fit_tokens(map(self.tokens, texts))

    def fit_tokens(self, sentences: Iterable[Iterable[str]]) -> None:
        """Set the vocabulary to the most frequent tokens of sentences that are split already."""
        from torchtext.vocab import Vocab

        counts = Counter(token for tokens in sentences for token in tokens)
        size = None if self.max_vocab_size is None else self.max_vocab_size - len(SPECIALS)
        made = Vocab(counts, max_size=size, min_freq=self.min_frequency, specials=list(SPECIALS))
        self.set_vocabulary(made.itos)

    def share(self, language: str) -> "Tokenizer":
        """Return a tokenizer of another language with the same vocabulary."""
        other = copy.copy(self)
        other.language, other.arguments = language, self.arguments | {"language": language}
        return other

    def learn_case(self, texts: Sequence[str], languages: Sequence[str] = ()) -> None:
        """Learn how words are written, and where lines and sentences begin with a capital, see `Casing`.

        `languages` are the codes of those that the texts are in, if they are in several: "Hand" is German, "hand" English.
        """
        self.casing = Casing.learned(texts, self.language)
        by_language: dict[str, list[str]] = {}
        for text, language in zip(texts, languages, strict=bool(languages)):
            by_language.setdefault(language, []).append(text)
        self.casings = {
            code: Casing.learned(own, self.language)  # `prepared` has lower-cased them so
            for code, own in by_language.items()
        }

    @property
    def vocab_size(self) -> int:
        """Number of tokens V."""
        return len(self.vocabulary)

    def prepared(self, text: str) -> str:
        """Return a sentence as `split` gets it: cleaned, and in lower case if `lowercase` is set."""
        return lowered(clean(text), self.language) if self.lowercase else clean(text)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a sentence."""
        return self.split(self.prepared(text))

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of tokens; a token that is not in the vocabulary becomes ``<unk>``."""
        return [self._ids.get(token, UNKNOWN_ID) for token in tokens]

    def words(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of ids as people read them, see `shown`."""
        return [self.shown(self.vocabulary[index]) for index in ids]

    def shown(self, token: str) -> str:
        """Return a token as people read it."""
        return token

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a sentence, without ``<bos>`` and ``<eos>``.

        A special token that is written in the text is an unknown word.
        """
        return [index if index >= len(SPECIALS) else UNKNOWN_ID for index in self.ids(self.tokens(text))]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of many sentences."""
        return [self.encode(text) for text in texts]

    def unknown(self, text: str) -> list[str]:
        """Return the tokens of a sentence that are not in the vocabulary, as people read them."""
        tokens = self.tokens(text)
        return [
            self.shown(t) for t, index in zip(tokens, self.ids(tokens), strict=True) if index < len(SPECIALS)
        ]

    def decode(self, ids: Iterable[int], language: str = "") -> str:
        """Return the text of token ids as one line, without special tokens except ``<unk>``; see `text`."""
        kept = (index for index in ids if index >= len(SPECIALS) or index == UNKNOWN_ID)
        return self.text([self.vocabulary[index] for index in kept], language)

    def text(self, tokens: Sequence[str], language: str = "") -> str:
        """Return the text of tokens as one line, with the case restored if `truecase` is set.

        `language` is the code of the text's own, of text in several.
        """
        text = re.sub(r"[\r\n]", " ", self.join(tokens))  # subwords spell rare characters in bytes
        casing = self.casings.get(language, self.casing)
        return casing.restored(text, self.language) if self.truecase else text

    # --- files ---

    def save(self, folder: Path, side: str) -> None:
        """Write ``<side>.json`` into a folder, and ``<side>.model`` for SentencePiece."""
        casings = {code: each.saved() for code, each in self.casings.items()}
        description = {
            "class": f"{type(self).__module__}.{type(self).__qualname__}",
            "arguments": self.arguments,
            **self.casing.saved(),
            **({"casings": casings} if casings else {}),
            "tokens": self.vocabulary,
        }
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(description, ensure_ascii=False, indent=0)
        (folder / f"{side}.json").write_text(text + "\n", encoding="utf-8")

    def read_model(self, folder: Path, side: str) -> None:
        """Read further files that `save` wrote; the base class has none."""

    @staticmethod
    def load(folder: Path, side: str, *, trust_custom_code: bool = False) -> "Tokenizer":
        """Read the files of `save`. Other classes than those of this program need `trust_custom_code`.

        Raises:
            InputError: A file is missing or invalid.
        """
        path = folder / f"{side}.json"
        try:
            description = read_json(path)
            require_trusted(description["class"], str(path), trust_custom_code=trust_custom_code)
            module, _, name = description["class"].rpartition(".")
            made_by = getattr(import_module(module), name, None)
            if not (isinstance(made_by, type) and issubclass(made_by, Tokenizer)):
                raise InputError(f"{path} names {description['class']!s:.80}, which is no tokenizer")
            if module == __name__ and "file" in description["arguments"]:
                raise InputError("it names a file to read: remove the argument file")
            tokenizer = made_by(**without_unknown(made_by, description["arguments"], str(path)))
            if not all(isinstance(token, str) for token in description["tokens"]):
                raise InputError("a token is no text")
            tokenizer.set_vocabulary(description["tokens"])
            tokenizer.casing = Casing.of(description)
            found = description.get("casings", {})
            tokenizer.casings = {code: Casing.of(each) for code, each in found.items()}
            tokenizer.read_model(folder, side)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ImportError) as error:
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            prefix = "" if str(path) in reason else f"{path} is no tokenizer of this program: "
            raise InputError(f"{prefix}{reason:.200}") from error
        return tokenizer


def load_tokenizers(folder: Path, *, trust_custom_code: bool = False) -> tuple[Tokenizer, Tokenizer]:
    """Read the tokenizers of source and target, see `Tokenizer.load`."""
    source, target = (
        Tokenizer.load(folder, side, trust_custom_code=trust_custom_code) for side in ("source", "target")
    )
    return source, target


def save_proved(tokenizer: Tokenizer, folder: Path, side: str, texts: Iterable[str] = ()) -> None:
    """Save a tokenizer, read it again, and compare what both do with some texts.

    Args:
        tokenizer: The tokenizer.
        folder: To write into.
        side: ``source`` or ``target``.
        texts: To compare; without them, texts of its own tokens.

    Raises:
        InputError: They differ, as of a class of your own whose `fit` learns what is not saved.
    """
    tokenizer.save(folder, side)
    loaded = Tokenizer.load(folder, side, trust_custom_code=True)  # its class is in memory already
    ids = [*range(len(SPECIALS), min(tokenizer.vocab_size, 1000))]
    for text in texts or (tokenizer.decode(ids[start : start + 10]) for start in range(0, len(ids), 10)):
        expected, found = tokenizer.encode(text), loaded.encode(text)
        if expected != found or tokenizer.decode(expected) != loaded.decode(found):
            raise InputError(
                f"data.tokenizer: {type(tokenizer).__name__} reads {text!r:.80} as other tokens, or writes them otherwise, when "
                "it is loaded again: write what fit learns in its method save, and read it in read_model"
            )


LONGEST_MEAN = 10
"""Letters of a word on average, beyond which words are not separated: German text has 6."""


class WordTokenizer(Tokenizer):
    """Words and punctuation marks, by one of several sets of rules.

    Args:
        rules: ``word``: words with their hyphens, and punctuation marks; ``basic_english``: the tokenizer of
            torchtext, for lower-cased English; ``moses``: the Moses tokenizer of the language (sacremoses).
        joints: Whether tokens carry where they touch, see `split_with_joints`, so that every clean text comes back; without
            them single spaces separate tokens, and sacremoses joins those of ``moses``. None: with the rules ``word``.
        **options: Arguments of `Tokenizer`.

    Raises:
        InputError: The rules do not support the language, or have no joints.
    """

    def __init__(self, *, rules: str = "word", joints: bool | None = None, **options: Any) -> None:
        self.joints = rules == "word" if joints is None else joints
        self.arguments["joints"] = self.joints
        if not isinstance(self.joints, bool):
            raise InputError(f"data.tokenizer.joints={self.joints!s:.40}: expected true or false")
        if self.joints and rules != "word":
            raise InputError(f"data.tokenizer.joints=true needs rules=word, not {rules}")
        super().__init__(**options)
        self._use_rules(rules)

    def share(self, language: str) -> Tokenizer:
        """Return a tokenizer with the same vocabulary, and the rules of another language."""
        other = super().share(language)
        assert isinstance(other, WordTokenizer)
        other._use_rules(self.arguments.get("rules", "word"))
        return other

    def _use_rules(self, rules: str) -> None:
        self._split: Callable[[str], list[str]] = split_with_joints if self.joints else split_words
        self._join: Callable[[Sequence[str]], str] = join_with_joints if self.joints else " ".join
        if rules == "basic_english":
            if base_language(self.language) != "en":
                raise InputError(
                    f"data.tokenizer: basic_english splits English only, not {self.language}: choose "
                    "rules=word or rules=moses for this language"
                )
            from torchtext.data.utils import get_tokenizer

            self._split = get_tokenizer("basic_english")
        elif rules == "moses":
            from sacremoses import MosesDetokenizer, MosesTokenizer
            from sacremoses.corpus import NonbreakingPrefixes

            known = sorted(set(NonbreakingPrefixes().available_langs.values()))
            language = base_language(self.language)
            if language not in known:
                raise InputError(
                    f"data.tokenizer: moses does not know the language {self.language}: choose rules=word, "
                    f"or one of {', '.join(known)}"
                )
            self._split = partial(MosesTokenizer(language).tokenize, escape=False)
            self._join = partial(MosesDetokenizer(language).detokenize, unescape=False)
        elif rules != "word":
            raise InputError(f"data.tokenizer.rules={rules}: choose word, basic_english or moses")

    def set_vocabulary(self, tokens: Sequence[str]) -> None:
        """Set the vocabulary; with joints, each word is also known by the most frequent token that is shown as it."""
        super().set_vocabulary(tokens)
        if self.joints:
            most = {self.shown(token): index for index, token in reversed([*enumerate(tokens)])}
            self._ids = most | self._ids

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of tokens; one whose joint is unknown is the word without it, before it is ``<unk>``."""
        known = self._ids
        return [known[t] if t in known else known.get(self.shown(t), UNKNOWN_ID) for t in tokens]

    def shown(self, token: str) -> str:
        """Return a token without joints."""
        return shown(token, SPACE_MARK) if self.joints else token

    def read_model(self, folder: Path, side: str) -> None:
        """Refuse words that rules of their language joined, which are gone."""
        found = read_json(folder / f"{side}.json")["arguments"]
        if "joints" not in found and found.get("rules") != "moses":
            raise InputError(
                "its words were joined by rules that are gone: train it again, as python train.py --config-path RUN "
                f"--config-name config name=again does ({folder / side}.json)"
            )

    def fit(self, texts: Iterable[str]) -> None:
        """Set the vocabulary to the most frequent words of some sentences; warn if they are no words."""
        texts = list(texts)
        super().fit(texts)
        if is_unspaced(self.language):
            words = [word for text in texts[:1000] for word in LETTERS.findall(text)]
            length = sum(map(len, words)) / max(len(words), 1)
            if length > LONGEST_MEAN:
                warn(
                    f"data.tokenizer: {self.language} is written without spaces, so that a word has {length:.0f} letters: "
                    "choose tokenizer=bpe or tokenizer=characters"
                )

    def split(self, text: str) -> list[str]:
        """Return words and punctuation marks."""
        return self._split(text)

    def join(self, tokens: Sequence[str]) -> str:
        """Join words at their joints, or else with spaces, or by the rules of Moses."""
        return self._join(list(tokens))


class CharacterTokenizer(Tokenizer):
    """Characters."""

    def split(self, text: str) -> list[str]:
        """Return the characters."""
        return list(text)

    def join(self, tokens: Sequence[str]) -> str:
        """Join characters."""
        return "".join(tokens)


class WhitespaceTokenizer(Tokenizer):
    """Tokens separated by white space, for text that is already tokenized."""

    def split(self, text: str) -> list[str]:
        """Return the tokens between white space."""
        return text.split()

    def join(self, tokens: Sequence[str]) -> str:
        """Join tokens with spaces."""
        return " ".join(tokens)


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
        **options: Arguments of `Tokenizer`; if `vocab_size` is None, it follows the number of sentences.
    """

    has_subwords = True

    def __init__(self, *, model_type: str = "bpe", sampling: float | None = None, **options: Any) -> None:
        if model_type not in ("unigram", "bpe"):
            raise InputError(f"data.tokenizer.model_type={model_type}: choose unigram or bpe")
        if sampling is not None and model_type != "unigram":
            raise InputError("data.tokenizer.sampling needs model_type=unigram")
        self.model_type, self.sampling = model_type, sampling
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


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer of the package `tokenizers`, read from a ``tokenizer.json``; its vocabulary follows the special tokens.

    Its own unknown token, such as ``[UNK]``, is ``<unk>``. What the file says of training (dropout of merges) and of batches
    (truncation, padding) is left out: a sentence has all its tokens, and the same each time.

    Args:
        file: A file that `tokenizers.Tokenizer.save` wrote.
        **options: Arguments of `Tokenizer`.
    """

    def __init__(self, *, file: str | None = None, **options: Any) -> None:
        self._tokenizer: Any = None  # until there is a file
        self._unknown: str | None = None
        self.arguments.pop("file", None)  # a saved tokenizer has the content beside it
        super().__init__(**options)
        if file is not None:
            self._use(self._content(file))

    @staticmethod
    def _content(file: str) -> str:
        try:
            return read_file(Path(on_disk(file))).decode("utf-8-sig")
        except OSError as error:
            raise InputError(f"data.tokenizer.file={file}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"data.tokenizer.file={file} is no tokenizer.json; of SentencePiece, tokenizer=unigram and tokenizer=bpe "
                "train a model of this corpus"
            ) from error

    def _use(self, content: str) -> None:
        try:
            import tokenizers

            self._tokenizer = tokenizers.Tokenizer.from_str(content)
            self._tokenizer.no_truncation()  # a file may ask for them, and words of long sentences would be lost
            self._tokenizer.no_padding()
            if getattr(self._tokenizer.model, "dropout", None) is not None:
                self._tokenizer.model.dropout = None
            model = json.loads(content)["model"]
            self.has_subwords = model.get("type") != "WordLevel"
            self._unknown = model.get("unk_token")
            if model.get("unk_id") is not None:  # of Unigram
                self._unknown = model["vocab"][model["unk_id"]][0]
        except ImportError as error:
            raise InputError("this tokenizer needs a package: pip install tokenizers") from error
        except Exception as error:  # of no narrower class
            raise InputError(f"a tokenizer.json cannot be read: {error}") from error

    def fit(self, texts: Iterable[str]) -> None:
        """Use the vocabulary of the file."""
        if self._tokenizer is None:
            raise InputError("data.tokenizer.file is needed: a tokenizer.json")
        by_id = sorted(self._tokenizer.get_vocab().items(), key=lambda item: item[1])
        others = {*SPECIALS, self._unknown}
        self.set_vocabulary([*SPECIALS, *(token for token, _ in by_id if token not in others)])

    def split(self, text: str) -> list[str]:
        """Return the tokens of a sentence; where the file's unknown token would stand, the text that is unknown."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            token
            if token != self._unknown
            else text[start:end]
            if text[start:end] not in self._ids
            else UNKNOWN
            for token, (start, end) in zip(found.tokens, found.offsets, strict=True)
        ]

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; one that the file does not know is a word as it is."""
        parts = list[str]()
        for is_known, run in groupby(tokens, lambda token: self._tokenizer.token_to_id(token) is not None):
            written = list(run)
            ids = map(self._tokenizer.token_to_id, written)
            parts += [self._tokenizer.decode(list(ids), skip_special_tokens=False)] if is_known else written
        return " ".join(part.strip() for part in parts) if len(parts) > 1 else "".join(parts)

    def save(self, folder: Path, side: str) -> None:
        """Write ``<side>.json`` and ``<side>.tokenizer.json``."""
        super().save(folder, side)
        (folder / f"{side}.tokenizer.json").write_text(self._tokenizer.to_str(), encoding="utf-8")

    def read_model(self, folder: Path, side: str) -> None:
        """Read ``<side>.tokenizer.json``."""
        self._use(read_file(folder / f"{side}.tokenizer.json").decode())
