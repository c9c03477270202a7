"""Export a model: ``seq2seq export onnx|attention|page|model MODEL -o FILE``

onnx writes the encoder and a decoder step as ONNX graphs into a folder. attention writes the Attention tab as one
HTML file, with the records of a run folder or with the translations of --input FILE. page writes the model as one
HTML file that translates in the browser. model writes the model of a finished run as a model folder with rounded
weights and a model card, whose scores are those of the rounded weights.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2seq.cli.main import MODEL_HELP, check_output, count, input_file, parser_of
from seq2seq.common.progress import announce
from seq2seq.common.shipped import config_of, model_path
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Write the export."""
    parser = parser_of("export", __doc__)
    add = parser.add_argument
    add("what", choices=("onnx", "attention", "page", "model"))
    add("model", type=model_path, help=MODEL_HELP)
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="file or folder to write")
    add("--input", type=input_file, metavar="FILE", help="attention: translate the lines of a file")
    add("--target", type=input_file, metavar="FILE", help="attention: translations of --input, to be forced")
    add("--beam-size", type=count, default=5, metavar="K", help="attention: hypotheses (default: 5)")
    add("--sentence", default="", help="page: what it translates when it is opened")
    add("--trust-custom-code", action="store_true", help="onnx: import classes that the model folder names")
    add("--precision", default="bf16", help="model: of the weights: fp32, bf16 or int8 (default: bf16)")
    add("--commit", help="model: of the program that trained it (default: what the run says)")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        _export(options)


def _export(options: argparse.Namespace) -> None:
    check_output(options.output)
    if options.what != "attention" or options.input is not None:
        config_of(options.model)
    announce(f"exporting: {options.what}")
    if options.what == "onnx":
        from seq2seq.export.onnx import export_onnx

        for path in export_onnx(options.model, options.output, trust_custom_code=options.trust_custom_code):
            print(path)
        return
    if options.what == "model":
        from seq2seq.export.card import save_pretrained

        print(
            save_pretrained(options.model, options.output, precision=options.precision, commit=options.commit)
        )
        return
    if options.what == "page":
        from seq2seq.export.translating_page import export_page

        content = export_page(options.model, options.sentence)
    else:
        from tensorboard_attention import export_html

        try:
            if options.input is None:
                if not options.model.is_dir():
                    raise InputError(f"{options.model}: there is no such folder; give a run folder")
                content = export_html(options.model)
            else:
                from seq2seq.cli.record_attention import read_pairs, record

                pairs = read_pairs(options.input, options.target)
                with TemporaryDirectory() as folder:
                    record(Path(folder), options.model, pairs, step=0, beam_size=options.beam_size)
                    content = export_html(folder, name=options.model.resolve().name)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error
    options.output.write_text(content, encoding="utf-8")
    print(f"{options.output}   {len(content) / 1e6:.1f} MB")
