"""Translations of programs: the catalogs of gettext, ``.po`` and ``.mo``, by the package polib."""

from codecs import BOM_UTF8
from functools import cache
from gettext import GNUTranslations
from io import BytesIO

from seq2seq.common.progress import say_once
from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.kinds import HEAD, kind_of
from seq2seq.data.languages import language_names
from seq2seq.data.text import SentencePair, open_text
from seq2seq.errors import InputError

MAX_FORMS = 10
"""Arabic has the most forms of a plural, six."""


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the messages that are translated, not fuzzy and not obsolete; of a plural, both forms of English.

    Their translations are the forms of 1 and of 5 by the header ``Plural-Forms``, without it the first and the last one.

    Raises:
        InputError: The package is missing, the file or that header is damaged, or it is of another language.
    """
    try:
        import polib
    except ImportError as error:
        raise InputError(
            f"{path} is a catalog of gettext, which needs a package: pip install polib"
        ) from error
    try:
        with open_text(path) as file:
            content = file.read()
        if kind_of(content[:HEAD]) == "gettext (.mo)":
            catalog = polib.mofile(content)
        else:
            catalog = polib.pofile(content.removeprefix(BOM_UTF8).decode(polib.detect_encoding(content)))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged or not in the charset that it names: {error}") from error
    declared = catalog.metadata.get("Language", "")
    same = [
        not declared or bool(language_names(declared) & language_names(each)) for each in columns.languages
    ]
    if not any(same):
        raise InputError(f"{path} is a translation into {declared}: set data.target_language={declared}")
    rule = " ".join(catalog.metadata.get("Plural-Forms", "").split())
    pairs = []
    for entry in catalog:
        translated = bool(entry.msgstr or any(entry.msgstr_plural.values()))
        if not translated or entry.obsolete or "fuzzy" in getattr(entry, "flags", ()):  # a .mo has no flags
            continue
        if forms := entry.msgstr_plural:
            one, five = plural_forms(path, rule) if rule else (min(forms), max(forms))
            pairs.append(SentencePair(entry.msgid, forms.get(one, "")))
            pairs.append(SentencePair(entry.msgid_plural, forms.get(five, "")))
        else:
            pairs.append(SentencePair(entry.msgid, entry.msgstr))
    if not pairs:
        raise InputError(f"{path} has no message that is translated")
    of_msgid, of_msgstr = columns.languages if same[1] else columns.languages[::-1]
    say_once(f"{path}: msgid is read as {of_msgid}, msgstr as {of_msgstr}")
    one_line = [SentencePair(" ".join(pair.source.split()), " ".join(pair.target.split())) for pair in pairs]
    return one_line if same[1] else [pair.reversed() for pair in one_line]


@cache
def plural_forms(path: str, rule: str) -> tuple[int, int]:
    """Return the numbers of the forms that translate a message of 1 and of 5 things.

    Args:
        path: The catalog, for the message.
        rule: The value of its header ``Plural-Forms``.

    Raises:
        InputError: The rule is none.
    """
    import polib

    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": rule}
    forms = {number: str(number) for number in range(MAX_FORMS)}
    catalog.append(polib.POEntry(msgid="one", msgid_plural="several", msgstr_plural=forms))
    try:
        numbers = GNUTranslations(BytesIO(catalog.to_binary()))
        one, five = (int(numbers.ngettext("one", "several", count)) for count in (1, 5))
    except (ArithmeticError, IndexError, ValueError) as error:
        raise InputError(
            f"{path}: {rule!r:.80} is no rule of Plural-Forms: write it as in nplurals=2; plural=(n != 1);"
        ) from error
    return one, five
