"""Translations of programs: the catalogs of gettext, ``.po`` and ``.mo``, by the package polib."""

from codecs import BOM_UTF8

from seq2seq.common.progress import say_once
from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.kinds import HEAD, kind_of
from seq2seq.data.languages import language_names
from seq2seq.data.text import SentencePair, open_text
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the messages that are translated, not fuzzy and not obsolete; of a plural, both forms of English.

    Raises:
        InputError: The package is missing, the file is damaged, or it is of another language.
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
        if kind_of(content[:HEAD]) == "gettext_binary":
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
    pairs = []
    for entry in catalog:
        translated = bool(entry.msgstr or any(entry.msgstr_plural.values()))
        if not translated or entry.obsolete or "fuzzy" in getattr(entry, "flags", ()):  # a .mo has no flags
            continue
        if entry.msgid_plural:
            forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)]
            pairs += [SentencePair(entry.msgid, forms[0]), SentencePair(entry.msgid_plural, forms[-1])]
        else:
            pairs.append(SentencePair(entry.msgid, entry.msgstr))
    if not pairs:
        raise InputError(f"{path} has no message that is translated")
    of_msgid, of_msgstr = columns.languages if same[1] else columns.languages[::-1]
    say_once(f"{path}: msgid is read as {of_msgid}, msgstr as {of_msgstr}")
    one_line = [SentencePair(" ".join(pair.source.split()), " ".join(pair.target.split())) for pair in pairs]
    return one_line if same[1] else [pair.reversed() for pair in one_line]
