"""What a file is, told by its first bytes and lines; and the way to read what is not read here."""

import json
import re

from bitext.pair import FormatError

HEAD = 1 << 16
"""Number of bytes that are looked at."""

AS_TEXT = "save it as plain text (UTF-8), one sentence a line"
EXTRACT = "write the sentences of one language into a file of plain text, one a line"
HINTS = {
    **dict.fromkeys(("Parquet", "JSON", "TMX", "XLIFF", "gettext (.po)", "gettext (.mo)", "WMT XML"), EXTRACT),
    "WMT SGML": "it has one language: give a file of the source and one of the target",
    "Arrow": f"{EXTRACT}; its folder is a dataset of Hugging Face",
    **dict.fromkeys(("Word", "RTF", "EPUB", "PowerPoint", "HTML"), AS_TEXT),
    **dict.fromkeys(("OpenDocument", "Office 97", "SQLite"), f"{AS_TEXT}; a table of pairs as CSV"),
    "Excel": "save the sheet as CSV (File, Save As, CSV UTF-8), or soffice --headless --convert-to csv FILE",
    "one JSON object": "where its keys name texts of one language (ARB, i18next), write those of each language into a file, "
    "one a line, in one order; pairs are a list of objects, or one object a line",
    "PDF": "extract the text, for example with pdftotext -layout FILE",
    "XML": "extract the text; of XML, TMX, XLIFF and WMT's test sets are read as pairs",
    "a file of subtitles": "write one sentence a line, without numbers and times",
    "a text with tags": "its lines of tags are no sentences: leave them out of both files with grep -v '^ *<' FILE",
    **{name: f"convert it with iconv -f {name} -t UTF-8 FILE" for name in ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32")},
    "a binary file": "give a text file in UTF-8",
    "a tar archive": "unpack it with tar -xf FILE", "a 7z archive": "unpack it with 7z x FILE",
    "Zstandard": "decompress it with zstd -d FILE, or pip install pyzstd", "a RAR archive": "unpack it with unrar x FILE",
    "a text with front matter": "the lines from --- to --- are no sentences: remove them",
}  # fmt: skip
"""What to do with a file of each kind, where plain text is needed; whoever reads it may have no configuration."""

MAGIC = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"%PDF": "PDF", b"{\\rtf": "RTF", b"SQLite format 3": "SQLite",
    b"\xd0\xcf\x11\xe0": "Office 97", b"7z\xbc\xaf": "a 7z archive", b"\x28\xb5\x2f\xfd": "Zstandard", b"Rar!": "a RAR archive",
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32",
    b"\xde\x12\x04\x95": "gettext (.mo)", b"\x95\x04\x12\xde": "gettext (.mo)",
}  # fmt: skip
ROOTS = {
    "tmx": "TMX", "xliff": "XLIFF", "dataset": "WMT XML", "html": "HTML", "chapter": "a text with tags",
    **dict.fromkeys(("srcset", "refset", "tstset", "mteval"), "WMT SGML"),
}  # fmt: skip
MEMBERS = {
    "word/document.xml": "Word", "xl/workbook.xml": "Excel", "ppt/presentation.xml": "PowerPoint",
    "META-INF/container.xml": "EPUB", "META-INF/manifest.xml": "OpenDocument",
}  # fmt: skip
"""Kinds by a file that only they have in their zip archive."""
BEGINNINGS = {
    r"<(doc\b[^>]*>\s*<)?(url|talkid|keywords|speaker)>.*</\2>": "a text with tags",
    r"WEBVTT\b|(\d+\s*\n)?(\d+:)+\d\d[,.]\d{3} --> ": "a file of subtitles",
    r"---\r?\n([\w-]+:.*\n)+---\r?\n": "a text with front matter",
}
"""Kinds of text by how it begins."""


def sniff(head: bytes) -> str:
    """Return the kind of a file, ``text`` or a key of `HINTS`, by its first bytes, decompressed."""
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "a tar archive"
    encoding = _utf16(head)
    start = head[: len(head) // 2 * 2].decode(encoding or "utf-8-sig", errors="replace").lstrip()
    for beginning, kind in BEGINNINGS.items():
        if re.match(beginning, start):
            return kind
    if start.startswith("<"):
        kind = _markup(start)
    elif start[:1] in {"{", "["} and (found := _json(start)):
        kind = found
    elif re.search(r'^msgid "', start, re.MULTILINE) and re.search(r'^msgstr(\[0\])? "', start, re.MULTILINE):
        kind = "gettext (.po)"
    else:
        is_text = b"\0" not in head or "\ufffd" not in start[:-4]  # it may end within a letter
        kind = "text" if is_text else "a binary file"
    in_utf8 = {"text", "JSON", "one JSON object", "gettext (.po)", "WMT SGML"}
    return encoding if encoding and kind in in_utf8 else kind


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
    from lxml import etree

    parser = etree.XMLParser(encoding="utf-8", recover=True, resolve_entities=False, no_network=True)
    root = etree.fromstring(re.sub("(?i)<!doctype", "<!DOCTYPE", start).encode(), parser)
    kind = None if root is None else ROOTS.get(re.split("[}:]", root.tag.lower())[-1])
    if (
        kind is None
        and re.search(r"<seg\b[^<>]*>", start[:HEAD], re.IGNORECASE)
        and not start.startswith("<?xml")
    ):
        return "WMT SGML"
    if kind is None and re.match(r"<\?xml|<!doctype", start, re.IGNORECASE):
        return "XML"
    return kind or "text"


def _json(start: str) -> str:
    """Return the kind of a text that begins with a JSON object or a list of objects; empty if it is no JSON."""
    first = start.splitlines()[0].rstrip()
    try:
        return "JSON" if isinstance(json.loads(first), dict | list) and '"' in first else ""
    except ValueError:
        if first.endswith("]") or not re.match(r'\[?\s*\{\s*"[^"]*"\s*:|\[\s*$', start):
            return ""
        return "one JSON object" if start[0] == "{" and first[-1] in "{[,:" else "JSON"  # over several lines


def refusal(name: str, kind: str) -> FormatError:
    """Return the error of a file of a kind that cannot be read here."""
    hint = HINTS[kind].replace(" FILE", "" if name == "standard input" else f" {name}", 1)
    return FormatError(f"{name} is {kind}, no plain text: {hint}")
