"""Draw attention: ``seq2seq plot MODEL --sentence "…" -o picture.png``

Draws the attention of the translation, or with --target that of forced decoding of a given target. The suffix of
-o chooses the format: .png, .pdf or .svg. --effect adds by how much the log-probability of each word falls without each
source token. With --steps NAME, such as attention/0/forced, it draws the recorded
steps of a training as a .gif.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from seq2seq.cli.main import MODEL_HELP, announce_replaced, check_output, parser_of
from seq2seq.common.progress import announce
from seq2seq.common.shipped import config_of, model_path
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error

PICTURE = Path("attention.png")


def main(arguments: Sequence[str]) -> None:
    """Draw sentences."""
    parser = parser_of("plot", __doc__)
    parser.add_argument("model", type=model_path, help=MODEL_HELP)
    drawn = parser.add_mutually_exclusive_group(required=True)
    drawn.add_argument("--sentence", action="append", help="a source sentence; can be given several times")
    drawn.add_argument(
        "--steps", metavar="NAME", help="name of a record of a run, such as attention/0/forced"
    )
    parser.add_argument("--target", help="the target for forced decoding")
    parser.add_argument("--effect", action="store_true", help="draw the effect of leaving tokens out, too")
    parser.add_argument(
        "-o", "--output", type=Path, default=PICTURE, help=f"file to write (default: {PICTURE})"
    )
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        _plot(options)


def _plot(options: argparse.Namespace) -> None:
    suffix = options.output.suffix.lower()
    wanted = {".gif"} if options.steps else {".png", ".pdf", ".svg"}
    if suffix not in wanted:
        raise InputError(
            f"-o {options.output}: the ending decides the format: choose {' or '.join(sorted(wanted))}"
        )
    check_output(options.output)
    if options.output == PICTURE:
        announce_replaced(PICTURE)
    if options.steps is not None:
        from seq2seq.visualization.animation import write_gif
        from tensorboard_attention.event_files import read_steps

        try:
            records = read_steps(options.model, options.steps, most=200, most_bytes=1 << 19)
        except ValueError as error:
            raise InputError(str(error)) from error
        write_gif(options.output, records)
        print(options.output)
        return
    config_of(options.model)
    from seq2seq.data.words import clean

    if not all(map(clean, options.sentence)):
        raise InputError("--sentence is blank: give a sentence")
    if options.target is not None and (len(options.sentence) > 1 or not clean(options.target)):
        raise InputError("--target is the translation of one --sentence")

    announce("loading PyTorch and the model")
    from seq2seq.data.text import SentencePair
    from seq2seq.decoding.forced import force_pairs
    from seq2seq.decoding.probing import effect_of
    from seq2seq.decoding.translator import Translator
    from seq2seq.models.folder import load_attending
    from seq2seq.visualization.heatmap import Panel, save_heatmap

    saved = load_attending(options.model)
    if options.target is None:
        found = Translator(saved).translate(options.sentence)
    else:
        found = force_pairs(options.model, [SentencePair(options.sentence[0], options.target)])
    name = options.model.resolve().name
    panels = list[Panel]()
    for sentence, each in zip(options.sentence, found, strict=True):
        sides = each.source_tokens, each.target_tokens
        panels.append(Panel(f"{name}, log p = {each.score:.2f}", each.weights.float().numpy(), *sides))
        if options.effect:
            effect = effect_of(saved, sentence, each)
            panels.append(Panel("fall of log p without the token", effect, *sides, is_effect=True))
    save_heatmap(options.output, panels)
    for each in found:
        print(f"{each.text}   score {each.score:.2f}   {options.output}")
        if note := each.unknown_note():
            print(note)
