"""Show the attention of a translation: ``seq2seq show MODEL "The red cat sees it."``

Writes an HTML page with the translation and the attention weights of each word, and opens it if there is a display.
With --target, the model is forced to produce that translation (teacher forcing). The page also has the effect of each source
token: by how much the log-probability of a word falls without it.
"""

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from seq2seq.cli.main import MODEL_HELP, announce_replaced, check_output, count, model, parser_of
from seq2seq.common.progress import announce
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Write the page, and open it."""
    parser = parser_of("show", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("sentence", help="a source sentence")
    add("--target", help="show the attention for this translation")
    add("--beam-size", type=count, default=5, metavar="K", help="hypotheses; 1: greedy (default: 5)")
    page = Path("attention.html")
    add("-o", "--output", type=Path, default=page, metavar="FILE", help=f"page to write (default: {page})")
    add("--no-open", action="store_true", help="write the page and do not open it")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        check_output(options.output)
        if options.output == page:
            announce_replaced(page)
        announce("loading PyTorch and the model")
        from seq2seq.data.text import SentencePair
        from seq2seq.data.words import clean
        from seq2seq.decoding.forced import force_pairs
        from seq2seq.decoding.probing import effect_of
        from seq2seq.decoding.translator import Translator
        from seq2seq.models.folder import load_attending
        from tensorboard_attention import show

        if not clean(options.sentence):
            raise InputError("the sentence is blank: give a sentence")
        saved = load_attending(options.model)
        if options.target is None:
            (found,) = Translator(saved).translate([options.sentence], beam_size=options.beam_size)
        else:
            (found,) = force_pairs(options.model, [SentencePair(options.sentence, options.target)])
        weights = found.weights if found.heads is None else found.heads
        shown = show(
            weights, found.source_tokens, found.target_tokens, score=found.score,
            kind="beam" if options.target is None else "forced",
            title=f"{found.text}, {options.model.resolve().name}", effect=effect_of(saved, options.sentence, found),
        )  # fmt: skip
        options.output.write_text(shown.page, encoding="utf-8")
        print(found.text)
        if note := found.unknown_note():
            print(note, file=sys.stderr)
        open_page(options.output, wanted=not options.no_open)


def open_page(path: Path, *, wanted: bool = True) -> None:
    """Print where a page is, and open it in a browser if there is a screen and a terminal that asked for it."""
    print(path)
    has_screen = (
        sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    )
    if wanted and has_screen and sys.stdout.isatty():
        webbrowser.open(path.absolute().as_uri())
