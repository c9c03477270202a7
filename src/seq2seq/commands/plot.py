"""Draw attention: seq2seq plot MODEL_OR_RUN_DIR --sentence "…" -o picture.png

Draws the greedy translation of the sentence, or with --target the attention of the model while it
is forced to give that target. The title is the run and the natural log-probability.

With --steps, draws what training recorded of a sentence at every step as a GIF: attention as it
forms.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.command_line.program import program_parser, refuse_same_file, run_program, writing
from seq2seq.decoding.model_files import files_of_models
from seq2seq.errors import InputError
from seq2seq.plain_text import one_line

if TYPE_CHECKING:
    from seq2seq.decoding.translation import Translation


def main() -> int:
    """Draw one sentence."""
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    drawn = parser.add_mutually_exclusive_group(required=True)
    drawn.add_argument("--sentence", help="the source sentence")
    drawn.add_argument(
        "--steps",
        metavar="NAME",
        help="what a run recorded, such as attention/0/forced; -o is a GIF",
    )
    parser.add_argument("--target", help="its translation, to be forced (default: the model's own)")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attention.png"), help="picture to write"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    return run_program(parser, _plot)


def _plot(arguments: argparse.Namespace) -> int:
    for option, text in (("sentence", arguments.sentence), ("target", arguments.target)):
        if text is not None and not text.strip():
            raise InputError(f"--{option} is blank: give a sentence")
    refuse_same_file(files_of_models(arguments.model), {"-o": arguments.output})
    return _draw_sentence(arguments) if arguments.steps is None else _draw_steps(arguments)


def _draw_steps(arguments: argparse.Namespace) -> int:
    if arguments.output.suffix.lower() != ".gif":
        raise InputError(
            f"-o {arguments.output}: --steps makes a GIF, give a name that ends in .gif"
        )
    if arguments.target is not None:
        raise InputError("--target goes with --sentence")

    from seq2seq.tensorboard.export import animated_steps  # noqa: PLC0415 - after --help

    content = animated_steps(arguments.model, arguments.steps)
    with writing(arguments.output, "-o"):
        arguments.output.write_bytes(content)
    print(one_line(f"{arguments.output}   {len(content) / 1000:.0f} kB"))
    return 0


def _draw_sentence(arguments: argparse.Namespace) -> int:
    translation = _translation(arguments)

    from seq2seq.pictures.heatmap import (  # noqa: PLC0415 - after --help
        attention_title,
        png_bytes,
        render_attention,
    )

    picture = render_attention(
        translation.weights.float().numpy(),
        translation.source_tokens,
        translation.target_tokens,
        title=attention_title(arguments.model.resolve().name, score=translation.score),
    )
    with writing(arguments.output, "-o"):
        arguments.output.write_bytes(png_bytes(picture))
    print(one_line(f"{translation.text}   score {translation.score:.2f}   {arguments.output}"))
    if note := translation.unknown_note():
        print(one_line(note))
    return 0


def _translation(arguments: argparse.Namespace) -> "Translation":
    from seq2seq.decoding.device import device_named  # noqa: PLC0415 - torch, after --help
    from seq2seq.decoding.forced import force_translate  # noqa: PLC0415
    from seq2seq.decoding.model_folder import load_attending  # noqa: PLC0415
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415
    from seq2seq.text.bucketing import BatchSize  # noqa: PLC0415
    from seq2seq.text.corpus import SentencePair  # noqa: PLC0415

    exported = load_attending(arguments.model)
    device, size = device_named(arguments.device), BatchSize(sentences=1, tokens=None)
    if arguments.target is None:
        translator = Translator(exported, device=device, batch_size=size)
        return translator.translate([arguments.sentence])[0]
    pair = SentencePair(arguments.sentence, arguments.target)
    (translation,) = force_translate(exported, [pair], device=device, batch_size=size)
    return translation
