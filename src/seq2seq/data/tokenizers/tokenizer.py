"""The base of all tokenizers: text to token ids and back, with a vocabulary, and its file.

Your own tokenizer is a subclass of `Tokenizer` with `split` and `join`, named by `_target_`.
"""

import copy
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from joined_words import Casing, clean, lowered
from seq2seq.common.errors import InputError
from seq2seq.common.named import require_trusted, without_unknown
from seq2seq.common.numbers import Positive
from seq2seq.data.addresses import read_json
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID

MAX_TOKENS = 500_000
"""Maximum number of tokens of a vocabulary that is read from a file."""

PACKAGE = "seq2seq.data.tokenizers."
"""Where the classes of this program are found, whichever file has them."""


def public_name(kind: type) -> str:
    """Return the name of a class in a saved tokenizer; files of this program are no part of it."""
    module = PACKAGE.rstrip(".") if kind.__module__.startswith(PACKAGE) else kind.__module__
    return f"{module}.{kind.__qualname__}"


Case = Literal["keep", "lower", "restore"]
"""What becomes of capitals."""


def with_case(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tokenizer with `case` in the place of version 0.4's ``lowercase`` and ``truecase``."""
    found = dict(stored)
    lowercase, truecase = found.pop("lowercase", None), found.pop("truecase", False)
    if lowercase is not None:
        found["case"] = ("restore" if truecase else "lower") if lowercase else "keep"
    return found


class Tokenizer(ABC):
    """Converts the text of one language to token ids and back.

    Text is cleaned first, see `clean`: in training, in translating and on both sides of a pair.

    Args:
        language: Code of the language, such as ``en``.
        case: ``keep`` it; ``lower``: lower-case the text first; ``restore``: lower-case it, and restore the case in
            translations, as `learn_case` has learned it.
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
        case: Case = "keep",
        min_frequency: Positive = 1,
        vocab_size: int | None = None,
    ) -> None:
        if not isinstance(language, str):
            raise InputError(f"data.tokenizer.language={language!s:.40}: expected a text")
        if case not in get_args(Case):
            raise InputError(f"data.tokenizer.case={case!s:.40}: choose {', '.join(get_args(Case))}")
        self.language, self.case = language, case
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

    def missing(self, texts: Iterable[str]) -> Counter[str]:
        """Count the tokens of some sentences that the vocabulary does not have, as `with_tokens` takes them."""
        counts = Counter(token for text in texts for token in self.tokens(text))
        return Counter(
            {t: n for t, n in counts.items() if t not in SPECIALS and self.ids([t]) == [UNKNOWN_ID]}
        )

    def with_tokens(self, tokens: Sequence[str]) -> "Tokenizer":
        """Return a tokenizer with further tokens behind its own, which splits text without them as before."""
        other = copy.copy(self)
        other.set_vocabulary([*self.vocabulary, *tokens])
        return other

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

    def learn_new_case(self, texts: Sequence[str], languages: Sequence[str] = ()) -> None:
        """Learn how words are written that have no capital yet; the others keep theirs."""
        casing, casings = self.casing, self.casings
        self.learn_case(texts, languages)
        learned = self.casings
        self.casing = casing.with_forms(self.casing.forms)
        self.casings = {
            code: each.with_forms(learned[code].forms) if code in learned else each
            for code, each in casings.items()
        }

    @property
    def vocab_size(self) -> int:
        """Number of tokens V."""
        return len(self.vocabulary)

    def prepared(self, text: str) -> str:
        """Return a sentence as `split` gets it: cleaned, and in lower case unless `case` is ``keep``."""
        return clean(text) if self.case == "keep" else lowered(clean(text), self.language)

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
        """Return the text of tokens as one line, with the case restored if `case` is ``restore``.

        `language` is the code of the text's own, of text in several.
        """
        text = re.sub(r"[\r\n]", " ", self.join(tokens))  # subwords spell rare characters in bytes
        casing = self.casings.get(language, self.casing)
        return casing.restored(text, self.language) if self.case == "restore" else text

    # --- files ---

    def save(self, folder: Path, side: str) -> None:
        """Write ``<side>.json`` into a folder, and ``<side>.model`` for SentencePiece."""
        casings = {code: each.saved() for code, each in self.casings.items()}
        description = {
            "class": public_name(type(self)),
            "arguments": self.arguments,
            **(self.casing.saved() if self.case == "restore" else {}),
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
            tokenizer = made_by(**without_unknown(made_by, with_case(description["arguments"]), str(path)))
            if not all(isinstance(token, str) for token in description["tokens"]):
                raise InputError("a token is no text")
            tokenizer.set_vocabulary(description["tokens"])
            if tokenizer.case == "restore":
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
