"""Try a bundled model: ``seq2seq demo``

Translates some sentences, draws the attention of the first one, and writes a page that translates in the browser
and answers what would have been said with other attention. The page is opened where there is a screen.
"""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.cli.main import MODEL_HELP, announce_replaced, check_output, model, parser_of
from seq2seq.cli.show import open_page
from seq2seq.common.progress import announce
from seq2seq.common.shipped import SHIPPED
from seq2seq.export.card import examples
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Translate, draw and write the page."""
    parser = parser_of("demo", __doc__)
    add = parser.add_argument
    default = "help-en-de" if "help-en-de" in SHIPPED else None
    add("model", type=model, nargs="?" if default else None, default=default,
        help=f"{MODEL_HELP} (default: {default})")  # fmt: skip
    add("--sentence", action="append",
        help="a source sentence; may be given several times (default: the model card's)")  # fmt: skip
    add("-o", "--output", type=Path, default=Path("demo.html"), metavar="FILE",
        help="page to write (default: demo.html)")  # fmt: skip
    add("--no-open", action="store_true", help="write the page and do not open it")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        check_output(options.output)
        page, picture = options.output, options.output.with_suffix(".png")
        announce_replaced(*([page, picture] if page == Path("demo.html") else [picture]))

        announce("loading PyTorch and the model")
        from seq2seq.decoding.translator import Translator
        from seq2seq.export.translating_page import export_page
        from seq2seq.visualization.heatmap import save_heatmap

        sentences = options.sentence or examples(options.model) or ["I see it."]
        found = Translator.load(options.model).translate(sentences, beam_size=5)
        for sentence, each in zip(sentences, found, strict=True):
            print(f"{sentence}\n    {each.text}\n")
        first = found[0]
        if first.weights.numel():
            weights = first.weights.float().numpy()
            save_heatmap(picture, [(first.text, weights, first.source_tokens, first.target_tokens)])
            print(picture)
        announce("writing the page")
        page.write_text(export_page(options.model, sentences[0]), encoding="utf-8")
        open_page(page, wanted=not options.no_open)
