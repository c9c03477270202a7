"""The command that shows what a shipped model does."""

from pathlib import Path

from seq2seq.cli.api import Run
from seq2seq.cli.options import Model, Page, Sentence
from seq2seq.cli.show import PAGE_MARK, announce_replaced, open_page
from seq2seq.common.progress import announce
from seq2seq.export.card import examples
from seq2seq.export.files import require_mark, write_export

PAGE = Path("demo.html")


def demo(
    model: Model = "everyday-en-fr",
    *,
    sentence: list[Sentence] | None = None,
    output: Page = PAGE,
    no_open: bool = False,
) -> None:
    """Try a shipped model: ``seq2seq demo``

    Translates some sentences, draws the attention of the first one, and writes a page that translates in the browser
    and answers what would have been said with other attention. The page is opened where there is a screen.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        sentence: A source sentence; may be given several times; without it those of the model card.
        output: Page to write.
        no_open: Write the page and do not open it.
    """
    require_mark(output, PAGE_MARK)
    picture = output.with_suffix(".png")
    announce("loading PyTorch and the model")
    from seq2seq.export.translating_page import export_page
    from tensorboard_attention import save_heatmap

    sentences = sentence or examples(Path(model)) or ["I see it."]
    found = Run(model).translate(sentences)
    for each, translation in zip(sentences, found, strict=True):
        print(f"{each}\n    {translation.text}{'  (a guess)' if translation.is_guess else ''}\n")
    first = found[0]
    if first.weights.numel():
        weights = first.weights.float().numpy()
        announce_replaced(picture)
        save_heatmap(picture, [(first.text, weights, first.source_tokens, first.target_tokens)])
        print(picture)
    announce("writing the page")
    page = export_page(Path(model), sentences[0])
    if output == PAGE:
        announce_replaced(output)
    write_export(output, page)
    open_page(output, wanted=not no_open)
