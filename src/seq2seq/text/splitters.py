"""The ways to split text into words or characters, each with the way back to ordinary text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seq2seq.errors import InputError
from seq2seq.text.languages import nearest_language
from seq2seq.text.torchtext_adapter import basic_english_splitter, whitespace_splitter
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


def make_splitter(name: str, language: str) -> Splitter:
    """The splitter of a language.

    Raises:
        InputError: the splitter does not know the language.
        KeyError: there is no splitter of this name.
    """
    return SPLITTERS[name](language)


def _word(language: str) -> Splitter:
    return Splitter(split_words, lambda tokens: join_words(tokens, language))


def _basic_english(language: str) -> Splitter:
    """The ``basic_english`` of torchtext: lower case, no ``" ; :``, apostrophes alone."""
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
    return Splitter(whitespace_splitter(), " ".join)


SPLITTERS: dict[str, Callable[[str], Splitter]] = {
    "word": _word,
    "basic_english": _basic_english,
    "moses": _moses,
    "character": _character,
    "whitespace": _whitespace,
}
