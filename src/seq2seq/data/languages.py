"""Language codes in a configuration and in tags; what is known of languages is that of the package bitext."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from bitext import NAMES, TWO_LETTERS, base_language, is_unspaced
from joined_words import has_dotless_i, shown
from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn

__all__ = [
    "base_language", "has_dotless_i", "is_unspaced", "require_language_code", "require_tags", "target_tag",
]  # fmt: skip


def require_language_code(key: str, code: str) -> None:
    """Check that a value is a language code, not the name of a language; warn of two letters that no language has.

    Those of three letters are too many to know, and private ones are among them.

    Raises:
        InputError: It is no language code; the message names the key and the likely code.
    """
    first = re.split("[-_]", code, maxsplit=1)[0]
    frequent = ("en", "fr", "de", "cs", "es", "it", "pt", "nl")
    near = [each for each in frequent if first.lower() in (each, each[::-1])] or get_close_matches(
        first, frequent
    )
    meant = NAMES.get(first.lower()) or next(iter(near), None)
    hint = f", did you mean {meant}?" if meant else ""
    if not re.fullmatch(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*", code):
        raise InputError(f"{key}={code} is no language code{hint}; write it as in en, de or pt-BR")
    if len(first) == 2 and base_language(first) not in TWO_LETTERS.values():
        warn(f"{key}={code} is no code of ISO 639-1{hint}; words are split as where no language is known")


def target_tag(language: str) -> str:
    """Return the first word of a source sentence, which names the target language, such as ``xxde``.

    Ha, Niehues and Waibel 2016, and Johnson et al. 2017. It has only letters and digits, so no tokenizer splits it.
    """
    return "xx" + re.sub(r"[^a-z0-9]", "", language.lower())


def require_tags(
    sentences: Iterable[str], vocabulary: Sequence[str], target_language: str, key: str = ""
) -> None:
    """Check that each sentence names its target language, if a model has several.

    Args:
        sentences: Source sentences, cleaned.
        vocabulary: The tokens of the source; in one of few subwords, a tag is several.
        target_language: Code of the target language; ``mul``: several.
        key: That of the sentences, if they are of the configuration.

    Raises:
        InputError: A sentence that is not blank begins with no `target_tag`.
    """
    if target_language != "mul":
        return
    tags = {
        word for word in (shown(token, "") for token in vocabulary) if re.fullmatch("xx[a-z0-9]{2,}", word)
    }
    for sentence in filter(None, sentences):
        tag = re.match("xx[a-z0-9]{2,}(?= )", sentence)
        if tag is None or (len(tags) > 1 and tag[0] not in tags):
            way = "" if key else "choose one with --to, or "
            raise InputError(
                f"{key and f'{key}: '}this model translates into several languages: {way}begin each sentence with the tag "
                f"of one, such as {', '.join(sorted(tags)) or 'xxde'}"
            )
