"""Translations of programs: the catalogs of gettext, ``.po`` and ``.mo``."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations
from io import BytesIO

import polib

from bitext.columns import Columns
from bitext.files import open_bytes
from bitext.kinds import HEAD, sniff
from bitext.languages import language_names
from bitext.pair import File, FormatError, Pair

MAX_FORMS = 10
"""Arabic has the most forms of a plural, six."""


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the messages that are translated, not fuzzy and not obsolete; of a plural, both forms of English.

    Their translations are the forms of 1 and of 5 by the header ``Plural-Forms``, without it the first and the last one.

    Raises:
        FormatError: The file or that header is damaged, or it is of another language.
    """
    try:
        with open_bytes(path) as file:
            content = file.read()
        if sniff(content[:HEAD]) == "gettext (.mo)":
            catalog = polib.mofile(content)
        else:
            catalog = polib.pofile(content.removeprefix(BOM_UTF8).decode(polib.detect_encoding(content)))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is damaged or not in the charset that it names: {error}") from error
    declared = catalog.metadata.get("Language", "")
    same = [
        not (declared and each) or bool(language_names(declared) & language_names(each))
        for each in columns.languages
    ]
    if not any(same):
        raise FormatError(
            f"{path} is a translation into {declared}: set {columns.prefix}target_language={declared}"
        )
    rule = " ".join(catalog.metadata.get("Plural-Forms", "").split())
    messages = []
    for number, entry in enumerate(catalog, start=1):
        translated = bool(entry.msgstr or any(entry.msgstr_plural.values()))
        if not translated or entry.obsolete or "fuzzy" in getattr(entry, "flags", ()):  # a .mo has no flags
            continue
        place = getattr(entry, "linenum", None) or number
        if forms := entry.msgstr_plural:
            one, five = plural_forms(str(path), rule) if rule else (min(forms), max(forms))
            messages.append((entry.msgid, forms.get(one, ""), place))
            messages.append((entry.msgid_plural, forms.get(five, ""), place))
        else:
            messages.append((entry.msgid, entry.msgstr, place))
    if not messages:
        raise FormatError(f"{path} has no message that is translated")
    of_msgid, of_msgstr = columns.languages if same[1] else columns.languages[::-1]
    columns.say(
        f"{path}: msgid is read as {of_msgid or 'source'}, msgstr as {of_msgstr or declared or 'target'}"
    )
    for *sides, place in messages:
        source, target = (" ".join(side.split()) for side in (sides if same[1] else sides[::-1]))
        yield Pair(source, target, place)


@cache
def plural_forms(path: str, rule: str) -> tuple[int, int]:
    """Return the numbers of the forms that translate a message of 1 and of 5 things.

    Args:
        path: The catalog, for the message.
        rule: The value of its header ``Plural-Forms``.

    Raises:
        FormatError: The rule is none.
    """
    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": rule}
    forms = {number: str(number) for number in range(MAX_FORMS)}
    catalog.append(polib.POEntry(msgid="one", msgid_plural="several", msgstr_plural=forms))
    try:
        numbers = GNUTranslations(BytesIO(catalog.to_binary()))
        one, five = (int(numbers.ngettext("one", "several", count)) for count in (1, 5))
    except (ArithmeticError, IndexError, ValueError) as error:
        raise FormatError(
            f"{path}: {rule!r:.80} is no rule of Plural-Forms: write it as in nplurals=2; plural=(n != 1);"
        ) from error
    return one, five
