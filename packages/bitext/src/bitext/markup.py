"""Elements of XML as text, for the readers of TMX, XLIFF and WMT's test sets."""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from bitext.files import open_bytes
from bitext.pair import File, FormatError

CODES = {"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "cp", "br", "lb"}
"""Elements that hold or stand for codes of the text's format, such as bold."""
BREAK = re.compile(r"(?i)(xlf:|x-)?([lpc]b|(html-)?br)|seg|<br\b[^>]*>|(\\[nr])+|\s+")
"""What the end of a line, page or segment says of itself; what a code stands for that is white space."""


def elements(path: File, *names: str) -> Iterator[Any]:
    """Yield the elements of some names, without their namespaces; each is cleared after use.

    Nothing that the file names is read, and entities of its own are not expanded.

    Raises:
        FormatError: The file is not well-formed.
    """
    try:
        with open_bytes(path) as file:
            tags = [f"{{*}}{name}" for name in names]
            events = etree.iterparse(file, events=("end",), tag=tags, resolve_entities=False, no_network=True)
            for _, element in events:
                yield element
                element.clear()
    except etree.XMLSyntaxError as error:
        raise FormatError(f"{path} is damaged: {error}") from error


def name_of(element: Any) -> str:
    """Return the name of an element without its namespace; nothing for a comment."""
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def children(element: Any, name: str) -> list[Any]:
    """Return the children of a name, in any namespace."""
    return [child for child in element if name_of(child) == name]


def is_break(element: Any) -> bool:
    """Return whether white space is meant: ``<x ctype="lb"/>``, ``<ph subType="xlf:lb"/>``, ``<ph>&lt;br/&gt;</ph>``."""
    name = name_of(element)
    said = map(element.get, ("type", "ctype", "subType", "mtype", "equiv-text", "disp"))
    return any(BREAK.fullmatch(each) for each in (name, *said, element.text if name in CODES else "") if each)


def text_of(element: Any) -> str:
    """Return the text of an element with that of the elements within, but for codes; white space, and a code for it, is a space."""

    def parts(each: Any) -> Iterator[str]:
        yield each.text or ""
        for child in each:
            yield " " if is_break(child) else ""
            if name_of(child) not in {"", *CODES}:
                yield from parts(child)
            yield child.tail or ""

    return " ".join("".join(parts(element)).split())


def language_of(element: Any) -> str:
    """Return the language that an element declares."""
    return element.get("{http://www.w3.org/XML/1998/namespace}lang") or element.get("lang") or ""


def line_of(element: Any) -> int:
    """Return the number of the line where an element begins."""
    return element.sourceline or 0
