"""The ways to split text into words or characters, each with the way back to ordinary text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from seq2seq.errors import InputError
from seq2seq.plain_text import first_line
from seq2seq.registry import Registry, foreign
from seq2seq.text.languages import nearest_language
from seq2seq.text.words import join_basic_english, join_words, split_words


@dataclass(frozen=True, slots=True)
class Splitter:
    """A way to split text, and its inverse as far as the split keeps what it needs.

    Attributes:
        split: text -> tokens.
        join: tokens -> ordinary text, such that ``split(join(split(text))) == split(text)`` for
            ordinary text of the language.
    """

    split: Callable[[str], list[str]]
    join: Callable[[Sequence[str]], str]


@runtime_checkable
class SplitterMaker(Protocol):
    """What the name of a tokenizer stands for."""

    def __call__(self, language: str, /) -> Splitter:
        """The splitter of a language, by its code."""


def make_splitter(name: str, language: str) -> Splitter:
    """The splitter of a language.

    Raises:
        InputError: the splitter does not know the language; nobody brings one of this name, or a
            package whose splitter is broken, which can show later, too.
    """
    try:
        splitter = SPLITTERS.made(name, language)
    except (ValueError, ImportError, TypeError) as error:
        raise InputError(f"data.tokenizer: {first_line(error)}") from error
    if not isinstance(splitter, Splitter):
        raise InputError(f"tokenizer {name!r} makes no Splitter: {splitter!r:.80}")
    if name in SPLITTERS.built_in:
        return splitter
    return Splitter(_checked(name, splitter.split, list), _checked(name, splitter.join, str))


def _checked(
    name: str, function: Callable[[Any], Any], kind: type[list[str] | str]
) -> Callable[[Any], Any]:
    """Another package's function, whose failures are one line."""

    def call(given: Any) -> Any:
        try:
            with foreign(f"tokenizer {name!r} fails"):
                result = function(given)
                if not isinstance(result, kind) or not all(isinstance(t, str) for t in result):
                    raise TypeError(f"{result!r:.80} is not what it should give")
        except ImportError as error:
            raise InputError(first_line(error)) from error
        return result

    return call


def _word(language: str) -> Splitter:
    return Splitter(split_words, lambda tokens: join_words(tokens, language))


def _basic_english(language: str) -> Splitter:
    """The ``basic_english`` of torchtext: lower case, no ``" ; :``, apostrophes alone."""
    from seq2seq.text.torchtext_adapter import basic_english_splitter  # noqa: PLC0415 - torch

    if language != "en":
        raise InputError(
            f"data.tokenizer: basic_english splits English only, not {language}: "
            "choose word or moses for this language"
        )
    return Splitter(basic_english_splitter(), join_basic_english)


def _moses(language: str) -> Splitter:
    """The Moses tokenizer of a language, nothing escaped for HTML."""
    from sacremoses import MosesDetokenizer, MosesTokenizer  # noqa: PLC0415 - slow to import
    from sacremoses.corpus import NonbreakingPrefixes  # noqa: PLC0415

    known = sorted(set(NonbreakingPrefixes().available_langs.values()))
    if language not in known:
        raise InputError(
            f"data.tokenizer: moses does not know the language {language}"
            f"{nearest_language(language, known)}: choose word, or one of {', '.join(known)}"
        )
    tokenizer, detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
    return Splitter(
        lambda text: tokenizer.tokenize(text, escape=False),
        lambda tokens: detokenizer.detokenize(list(tokens), unescape=False),
    )


def _character(_language: str) -> Splitter:
    return Splitter(list, "".join)


def _whitespace(_language: str) -> Splitter:
    """Text that is split already, or that a space splits well enough."""
    from seq2seq.text.torchtext_adapter import whitespace_splitter  # noqa: PLC0415 - torch

    return Splitter(whitespace_splitter(), " ".join)


SUBWORDS = ("unigram", "bpe")
"""The tokenizers that SentencePiece trains."""

SPLITTERS: Registry[SplitterMaker] = Registry(
    "tokenizer",
    {
        "word": _word,
        "basic_english": _basic_english,
        "moses": _moses,
        "character": _character,
        "whitespace": _whitespace,
    },
    SplitterMaker,
    reserved=(*SUBWORDS, "sentencepiece"),
)


def tokenizer_names() -> list[str]:
    """Those that text can be split by."""
    return [*SPLITTERS.names(), *SUBWORDS]
