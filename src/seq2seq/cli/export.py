"""The command that writes a model, or its attention, for other programs."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from seq2seq.cli.options import Output, Precision, Sentence, page_file
from seq2seq.cli.show import PAGE_MARK
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce
from seq2seq.data.folders import config_of, model_path
from seq2seq.export.files import require_mark, write_export


def export(
    what: Literal["onnx", "attention", "page", "js", "model"],
    model: Annotated[str | Path, "MODEL", model_path],
    *,
    output: Output,
    sentence: Sentence = "",
    trust_custom_code: bool = False,
    precision: Precision = "bf16",
    commit: str | None = None,
) -> None:
    """Export a model: ``seq2seq export onnx|attention|page|js|model MODEL -o FILE``

    onnx writes the encoder and a decoder step as ONNX graphs into a folder. attention writes the Attention tab as one
    HTML file, with the records of a run folder. page writes the model as one
    HTML file that translates in the browser. js writes it as a module of JavaScript for a page of your own, into a folder
    with an example page. model writes the model of a finished run as a model folder with rounded
    weights and a model card, whose scores are those of the rounded weights.

    Args:
        what: What is written.
        model: A run folder, a model folder, or the name of a shipped model.
        output: File or folder to write.
        sentence: page: what it translates when it is opened; without it an example of the model card or of the run.
        trust_custom_code: Import classes that the model folder names.
        precision: model: of the weights.
        commit: model: of the program that trained it; without it what the run says.
    """
    folder = Path(model)
    _require_of(
        what,
        {
            "--sentence": (sentence, "", "page"),
            "--precision": (precision, "bf16", "model"),
            "--commit": (commit, None, "model"),
        },
    )
    if what != "attention":
        config_of(folder)
    if what in ("onnx", "js", "model") and output.is_file():
        raise InputError(f"-o {output} is a file: give a folder")
    if what in ("attention", "page"):
        require_mark(page_file(str(output)), PAGE_MARK)
    first = {"onnx": "encoder.onnx", "js": "translator.js"}.get(what, "")
    is_there = (output / first).exists()
    announce(f"exporting: {what}")
    if what == "onnx":
        # before PyTorch is loaded: it warns of packed sequences, whatever the result, which is compared below
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        from seq2seq.export.onnx import export_onnx

        for path in export_onnx(folder, output, trust_custom_code=trust_custom_code):
            print(path)
    elif what == "js":
        from seq2seq.export.web import export_js

        print(*export_js(folder, output), sep="\n")
    elif what == "model":
        from seq2seq.export.card import save_pretrained

        print(
            save_pretrained(
                folder, output, precision=precision, commit=commit, trust_custom_code=trust_custom_code
            )
        )
    else:
        if what == "page":
            from seq2seq.export.card import examples
            from seq2seq.export.translating_page import export_page

            content = export_page(folder, sentence or next(iter(examples(folder)), ""))
        else:
            from seq2seq.export.records import recorded_page

            content = recorded_page(folder)
        write_export(output, content)
        print(f"{output}   {len(content) / 1e6:.1f} MB")
    if is_there:
        print(f"{output}: replaced", file=sys.stderr)


def _require_of(what: str, options: dict[str, tuple[object, object, str]]) -> None:
    """Refuse options, each with its value, its default and what it is for, that are not for what is exported."""
    for name, (value, default, whose) in options.items():
        if value != default and whose != what:
            raise InputError(f"{name} is an option of seq2seq export {whose}, not of {what}")
