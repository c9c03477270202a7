"""What a file is, told by its first bytes and lines; plain text is refused nothing, other files get the way to read them."""

import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError

HEAD = 1 << 16
"""Number of bytes that are looked at."""

CONVERT = "save it as CSV (UTF-8) and give data=tsv data.file=FILE.csv"
AS_TEXT = "save it as plain text (UTF-8), one sentence a line"
PAIRS = "it has both languages: give it to data=tsv data.file=FILE"
HINTS = {
    "parquet": PAIRS, "json": PAIRS, "tmx": PAIRS, "xliff": PAIRS, "gettext": PAIRS, "gettext_binary": PAIRS, "wmt": PAIRS,
    "sgml": "it has one language: give source and target to data=parallel",
    "Arrow": "give its folder to data=hf data.dataset=FOLDER",
    "PDF": "extract the text, for example with pdftotext -layout FILE",
    "Word": AS_TEXT, "OpenDocument": f"{AS_TEXT}; a table as CSV for data=tsv", "RTF": AS_TEXT, "EPUB": AS_TEXT,
    "PowerPoint": AS_TEXT, "Excel": CONVERT, "Office 97": f"{AS_TEXT}; a table as CSV for data=tsv",
    "HTML": AS_TEXT, "XML": "extract the text; of XML, TMX, XLIFF and WMT's test sets are read",
    "subtitles": "write one sentence a line, without numbers and times",
    "IWSLT": "its lines of tags are no sentences: leave them out of both files with grep -v '^ *<' FILE",
    "Europarl": "its lines of tags are no sentences: leave them out of both files with grep -v '^ *<' FILE",
    **{name: f"convert it with iconv -f {name} -t UTF-8 FILE" for name in ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32")},
    "binary": "give a text file in UTF-8",
    "SQLite": CONVERT, "tar archive": "unpack it with tar -xf FILE", "7z archive": "unpack it with 7z x FILE",
    "Zstandard": "decompress it with zstd -d FILE", "RAR archive": "unpack it with unrar x FILE",
    "front matter": "the lines from --- to --- are no sentences: remove them",
}  # fmt: skip
"""What to do with a file of each kind, where plain text is needed."""

MAGIC = {
    b"PAR1": "parquet", b"ARROW1": "Arrow", b"%PDF": "PDF", b"{\\rtf": "RTF", b"SQLite format 3": "SQLite",
    b"\xd0\xcf\x11\xe0": "Office 97", b"7z\xbc\xaf": "7z archive", b"\x28\xb5\x2f\xfd": "Zstandard", b"Rar!": "RAR archive",
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32",
    b"\xde\x12\x04\x95": "gettext_binary", b"\x95\x04\x12\xde": "gettext_binary",
}  # fmt: skip
ROOTS = {
    "tmx": "tmx", "xliff": "xliff", "dataset": "wmt", "srcset": "sgml", "refset": "sgml", "tstset": "sgml", "mteval": "sgml",
    "html": "HTML", "chapter": "Europarl",
}  # fmt: skip
MEMBERS = {
    "word/document.xml": "Word", "xl/workbook.xml": "Excel", "ppt/presentation.xml": "PowerPoint",
    "META-INF/container.xml": "EPUB", "META-INF/manifest.xml": "OpenDocument",
}  # fmt: skip
"""Kinds by a file that only they have in their zip archive."""
BEGINNINGS = {
    r"<(doc\b[^>]*>\s*<)?(url|talkid|keywords|speaker)>.*</\2>": "IWSLT",
    r"WEBVTT\b|(\d+\s*\n)?(\d+:)+\d\d[,.]\d{3} --> ": "subtitles",
    r"---\r?\n([\w-]+:.*\n)+---\r?\n": "front matter",
}
"""Kinds of text by how it begins."""


def kind_of(head: bytes) -> str:
    """Return the kind of a file, ``text`` or a key of `HINTS`, by its first bytes, decompressed."""
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "tar archive"
    encoding = _utf16(head)
    start = head[: len(head) // 2 * 2].decode(encoding or "utf-8-sig", errors="replace").lstrip()
    for beginning, kind in BEGINNINGS.items():
        if re.match(beginning, start):
            return kind
    if start.startswith("<"):
        kind = _markup(start)
    elif start[:1] in {"{", "["} and _is_json(start):
        kind = "json"
    elif re.search(r'^msgid "', start, re.MULTILINE) and re.search(r'^msgstr(\[0\])? "', start, re.MULTILINE):
        kind = "gettext"
    else:
        is_text = b"\0" not in head or "\ufffd" not in start[:-4]  # it may end within a letter
        kind = "text" if is_text else "binary"
    return encoding if encoding and kind in {"text", "json", "gettext", "sgml"} else kind


def _utf16(head: bytes) -> str:
    """Return the encoding of a text in UTF-16, with a byte order mark or without; empty for another text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    for encoding, zeros in (("UTF-16LE", head[1::2]), ("UTF-16BE", head[::2])):
        if zeros.count(0) > len(zeros) / 2:
            text = head[: len(head) // 2 * 2].decode(encoding, errors="replace")
            if all(char.isprintable() or char.isspace() for char in text):
                return encoding
    return ""


def _markup(start: str) -> str:
    """Return the kind of a text that begins with ``<``: markup if its first element is that of a whole document."""
    root = re.search(r"<([A-Za-z][\w:.-]*)", start)
    kind = ROOTS.get(root[1].lower().split(":")[-1] if root else "")
    if (
        kind is None
        and re.search(r"<seg\b[^<>]*>", start[:HEAD], re.IGNORECASE)
        and not start.startswith("<?xml")
    ):
        return "sgml"
    if kind is None and re.match(r"<\?xml|<!doctype", start, re.IGNORECASE):
        return "XML"
    return kind or "text"


def _is_json(start: str) -> bool:
    """Return whether a text begins with a JSON object, on its first line or over several, or a list of objects."""
    first = start.splitlines()[0]
    try:
        return isinstance(json.loads(first), dict | list) and '"' in first
    except ValueError:
        return re.match(r'\[?\s*\{\s*"[^"]*"\s*:|\[\s*$', start) is not None and not first.endswith("]")


def plain_lines(file: Any, name: str) -> Iterable[bytes]:
    """Return the lines of an open file of plain text; of a test set of WMT in SGML, its segments.

    The file is decompressed and has a method ``peek``; its name is for messages.

    Raises:
        InputError: The file is of another kind; the message has the way to read it.
    """
    kind = kind_of(file.peek(HEAD)[:HEAD])
    if kind == "sgml":
        from seq2seq.data.formats.wmt import segments

        return segments(file, name)
    if kind != "text":
        raise refusal(name, kind)
    return file


def refusal(name: str, kind: str) -> InputError:
    """Return the error of a file of a kind that cannot be read here."""
    label = {
        "gettext_binary": "gettext (.mo)",
        "gettext": "gettext (.po)",
        "wmt": "WMT XML",
        "subtitles": "a file of subtitles",
        "front matter": "a text with front matter",
        "sgml": "WMT SGML",
        "binary": "a binary file",
        "tar archive": "a tar archive",
        "IWSLT": "a text with the tags of IWSLT",
        "Europarl": "a text with the tags of Europarl",
    }
    shown = label.get(kind, kind.upper() if kind.islower() and "_" not in kind else kind)
    hint = HINTS[kind].replace("FILE.csv", f"{Path(name).stem}.csv")
    hint = hint.replace(" FILE", "") if name == "standard input" else hint.replace("FILE", str(name), 1)
    return InputError(f"{name} is {shown}, no plain text: {hint}")


def text_member(archive: zipfile.ZipFile, path: str | Path) -> str:
    """Return the name of the only file of a zip archive, apart from notes such as README and LICENSE.

    Raises:
        InputError: It is a document of an office program, or has no file or several.
    """
    for name, kind in MEMBERS.items():
        if name in archive.namelist():
            raise refusal(str(path), kind)
    names = [
        name
        for name in archive.namelist()
        if not re.search(r"(?i)/$|__MACOSX|(^|/)(_?about|readme|license|licence|copying)[^/]*$", name)
    ]
    texts = [name for name in names if name.endswith(".txt")]
    for choice in (names, texts):
        if len(choice) == 1:
            return choice[0]
    listed = f" (it has {', '.join(names[:4])}{', …' if names[4:] else ''})" if names else ""
    raise InputError(f"{path} is a zip archive of {len(texts)} text files: unpack it and give one{listed}")
