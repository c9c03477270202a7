"""The viewer's files; all of them in one HTML page that needs no server, and that page in a notebook."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from tensorboard_attention.colors import color_scales
from tensorboard_attention.event_files import PAGE_BYTES, read_log_folder
from tensorboard_attention.record import encode_record, printable
from tensorboard_attention.views import Json, frames_of
from tensorboard_attention.writer import attention_record

MODULES = "data.js", "heads.js", "charts.js", "viewer.js"

STYLE = "viewer.css"
STATIC_FILES = (*MODULES, "tab.js", STYLE)

VIEWING = "mount(document.body, embeddedSource(), pageHost());\n"
"""The statement that starts the viewer of what was recorded."""

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


def viewer_modules() -> list[str]:
    """Return the texts of the viewer's modules: each imports only from those before it."""
    return [static_file(name) for name in MODULES]


def html_page(
    data: Any, *, title: str, modules: Iterable[str] | None = None, start: str = VIEWING, style: str = ""
) -> str:
    """Return the viewer with its data as one HTML file, which sends no request.

    Its content security policy allows this script and style and nothing else. A program that shows more than the viewer, such
    as a page that asks a model, passes modules of its own.

    Args:
        data: ``{"index": …, "views": [view, …]}``, as `tensorboard_attention.views` makes them; or what other
            modules read.
        title: Of the browser's window.
        modules: Texts of the modules of JavaScript, see `bundle`; None: `viewer_modules`.
        start: The statement after them.
        style: CSS after the viewer's.
    """
    style = static_file(STYLE) + style
    script = bundle(viewer_modules() if modules is None else modules) + start
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        policy=policy, title=escape(printable(title)), style=style, data=_json(data), script=script
    )


def export_html(logdir: str | Path, name: str | None = None, *, has_steps: bool = True) -> str:
    """Return the page of all attention that was recorded in a log folder, or in the runs below it.

    Args:
        logdir: The folder.
        name: Name of a run in the folder itself; None: that of the folder.
        has_steps: Whether the records are of steps of a training; if not, the page names no step.

    Raises:
        ValueError: The folder holds no attention records.
    """
    folder = Path(logdir)
    data = read_log_folder(folder, name=name)
    if not has_steps:
        data["views"] = [_without_steps(view) for view in data["views"]]
    return html_page(data, title=f"Attention of {name or folder.resolve().name}")


def _without_steps(view: Json) -> Json:
    """Return a view whose frames are of no step."""
    frames = [frame | {"step": None} for frame in view["frames"]]
    return view | {"steps": [None] * len(frames), "frames": frames}


class Framed:
    """A page that a notebook shows in a frame, which shares nothing with the notebook.

    Its height is in pixels.
    """

    def __init__(self, page: str, *, height: int) -> None:
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        return (
            '<iframe title="attention" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 0" srcdoc="{escape(self.page)}"></iframe>'
        )


def show(
    weights: Any,
    source_tokens: Sequence[str] | None,
    target_tokens: Sequence[str] | None,
    *,
    kind: str = "",
    title: str = "Attention",
    **options: Any,
) -> Framed:
    """Return what a notebook shows of attention weights; its attribute `page` is the HTML page.

    Weights, tokens and options are those of `add_attention`. `title` stands above the matrix and names the page; `kind` says how
    the target was found, such as ``beam search``.
    """
    record = attention_record(weights, source_tokens, target_tokens, **options)
    tag = {"tag": "", "sentence": "", "text": " ".join(record.source).strip(), "kind": kind, "rank": 0}
    run = {"run": title, "tags": [tag | {"max_step": 0, "wall_time": None}]}
    view = _without_steps(frames_of(title, "", {0: encode_record(record)}, [0], PAGE_BYTES))
    content = html_page(
        {"index": {"runs": [run], "problems": [], **color_scales()}, "views": [view]}, title=title
    )
    height = 330 + 30 * len(record.target) + 110 * sum(record.maps[:1])  # rows; small maps
    return Framed(content, height=min(900, height))


def bundle(modules: Iterable[str]) -> str:
    """Return the texts of modules as one script: each imports only from those before it, and no names collide."""
    return '"use strict";\n' + "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return printable(text).replace("<", "\\u003c")


def _digest(text: str) -> str:
    """A source of a content security policy: exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
