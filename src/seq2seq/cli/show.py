"""The command that shows the attention of a translation on a page."""

import os
import sys
import webbrowser
from pathlib import Path

from seq2seq.cli.options import Count, Model, Page, Sentence
from seq2seq.common.progress import announce
from seq2seq.export.files import require_mark, write_export

PAGE = Path("attention.html")
PAGE_MARK = b'<script type="application/json" id="attention-data">'
"""Is in every page with the viewer of attention."""


def show(
    model: Model,
    sentence: Sentence,
    *,
    target: str | None = None,
    beam_size: Count = 5,
    output: Page = PAGE,
    no_open: bool = False,
    trust_custom_code: bool = False,
) -> None:
    """Show the attention of a translation: ``seq2seq show MODEL "The red cat sees it."``

    Writes an HTML page with the translation and the attention weights of each word, and opens it if there is a
    display. With --target, the model is forced to produce that translation (teacher forcing). The page also has the
    effect of each source token: by how much the log-probability of a word falls without it.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        sentence: A source sentence.
        target: Show the attention for this translation.
        beam_size: Hypotheses; 1: greedy.
        output: Page to write.
        no_open: Write the page and do not open it.
        trust_custom_code: Import classes that the model folder names.
    """
    require_mark(output, PAGE_MARK)
    announce("loading PyTorch and the model")
    from seq2seq.export.records import translation_page

    found, page = translation_page(model, sentence, target, beam_size, trust_custom_code=trust_custom_code)
    if output == PAGE:
        announce_replaced(output)
    write_export(output, page)
    print(found.text)
    if note := found.unknown_note():
        print(note, file=sys.stderr)
    open_page(output, wanted=not no_open)


def open_page(path: Path, *, wanted: bool = True) -> None:
    """Print where a page is, and open it in a browser if there is a screen and a terminal that asked for it."""
    print(path)
    has_screen = (
        sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    )
    if wanted and has_screen and sys.stdout.isatty():
        webbrowser.open(path.absolute().as_uri())


def announce_replaced(*paths: Path) -> None:
    """Say which files, whose names the user did not give, are replaced."""
    if there := [str(path) for path in paths if path.exists()]:
        print(f"{' and '.join(there)}: replaced; give -o FILE to keep both", file=sys.stderr, flush=True)
