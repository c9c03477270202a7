"""A model for web pages of others: a module of JavaScript with its types, the weights, and an example page."""

import json
from pathlib import Path

from seq2seq.export.files import require_mark, write_export
from seq2seq.export.translating_page import model_module, page_model, static_file

MARKS = {
    "translator.js": b"export async function load",
    "translator.d.ts": b"export function load",
    "model/model.json": b'{"spec":',
}
"""The files that are replaced, and what is in each one that this export has written."""


def export_js(model: str | Path, folder: str | Path) -> list[Path]:
    """Write a model as an ES module: ``import { load } from "./translator.js"``; return the files.

    Weights are rounded, and what the module computes is compared with the model, as for a page, see `page_model`.

    Raises:
        InputError: There is no model, a page does not support it, or other files have these names.
    """
    folder = Path(folder)
    for name, mark in MARKS.items():
        require_mark(folder / name, mark)
    data = json.dumps(page_model(model), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    texts = {
        "translator.js": model_module() + static_file("translator.js"),
        "translator.d.ts": static_file("translator.d.ts"),
        "example.html": static_file("example.html"),
        "model/model.json": data,
    }
    if (folder / "example.html").exists():  # a page of the user's by now
        del texts["example.html"]
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_export(folder / name, text)
    return [folder / name for name in texts]
