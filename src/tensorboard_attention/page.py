"""The viewer's files, and all of them in one HTML page that needs no server."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from tensorboard_attention.record import printable

MODULES = (
    "tokens.js",
    "frames.js",
    "series.js",
    "paint.js",
    "matrix.js",
    "ribbons.js",
    "facts.js",
    "address.js",
    "controls.js",
    "grid.js",
    "state.js",
    "recorded.js",
    "drawings.js",
    "exports.js",
    "keys.js",
    "viewer.js",
)
"""The viewer: each imports only from those before it."""

MODEL_MODULES = (
    "vocabulary.js",
    "arrays.js",
    "network.js",
    "search.js",
    "words.js",
    "subwords.js",
    "translator.js",
)
"""A model that translates; they know nothing of pages."""

ASKING_MODULES = (
    "asking.js",
    "glass.js",
    "tree.js",
    "translating.js",
)
"""What one types into, and asks."""

STATIC_FILES = (
    *MODULES, *MODEL_MODULES, *ASKING_MODULES, "tab.js", "viewer.css", "asking.css",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageParts:
    """What a page is made of.

    Attributes:
        modules: of its script, each after those that it imports from.
        styles: its style sheets.
        start: the statement that begins.
    """

    modules: tuple[str, ...]
    styles: tuple[str, ...]
    start: str


VIEWING = PageParts(MODULES, ("viewer.css",), "mount(document.body, embeddedSource(), pageHost());\n")
TRANSLATING = PageParts(
    (*MODEL_MODULES, *MODULES, *ASKING_MODULES),
    ("viewer.css", "asking.css"),
    "translating(document.body);\n",
)

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) )", re.MULTILINE)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="attention-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def static_file(name: str) -> str:
    """The text of one of `STATIC_FILES`."""
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def page(data: Any, *, title: str, parts: PageParts = VIEWING) -> str:
    """The viewer with its data as one HTML file, which asks nobody for anything.

    Its content security policy allows this very script and style and nothing else.

    Args:
        data: ``{"index": …, "views": [view, …]}``, as `tensorboard_attention.views` makes;
            or what other parts read.
        title: of the browser's window.
        parts: what the page is made of.
    """
    style = "".join(map(static_file, parts.styles))
    script = bundle(parts.modules) + parts.start
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        policy=policy,
        title=_escaped(title),
        style=style,
        data=_json(data),
        script=script,
    )


def framed(document: str, *, height: int) -> str:
    """A page within another, in a frame that shares nothing with what is around it.

    Args:
        document: what `page` makes.
        height: of the frame [pixels].
    """
    content = document.replace("&", "&amp;").replace('"', "&quot;")
    return (
        '<iframe title="attention" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {height}px; border: 0" srcdoc="{content}"></iframe>'
    )


def bundle(names: Iterable[str] = MODULES) -> str:
    """Modules as one script: they are written so that their names do not collide."""
    modules = (_EXPORT.sub("", _IMPORT.sub("", static_file(name))) for name in names)
    return '"use strict";\n' + "\n".join(modules)


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return printable(text).replace("<", "\\u003c")


def _digest(text: str) -> str:
    """A source of a content security policy: exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escaped(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
