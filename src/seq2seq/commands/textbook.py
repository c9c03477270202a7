"""Translate the textbook's four sentences: seq2seq textbook runs/textbook/default

Prints each translation with its BLEU (k = 2), names the words that the model does not know, and
writes the attention of the last sentence as a picture.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program, writing
from seq2seq.evaluation.sentence_bleu import sentence_bleu
from seq2seq.text.words import split_words

SENTENCES = {
    "go .": "va !",
    "i lost .": "j'ai perdu .",
    "he's calm .": "il est calme .",
    "i'm home .": "je suis chez moi .",
}


def main() -> int:
    """Translate, score and draw."""
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument(
        "--output", type=Path, default=Path("textbook.png"), help="picture to write"
    )
    return run_program(parser, _translate)


def _translate(arguments: argparse.Namespace) -> int:
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415 - torch, after --help
    from seq2seq.pictures.heatmap import png_bytes, render_attention  # noqa: PLC0415

    translator = Translator.load(arguments.model)
    translations = translator.translate(list(SENTENCES))
    for (source, reference), translation in zip(SENTENCES.items(), translations, strict=True):
        bleu = sentence_bleu(split_words(translation.text), split_words(reference), max_order=2)
        unknown = ", ".join(translation.unknown)
        note = f"   unknown: {unknown}" if unknown else ""
        print(f"{source:<12} => {translation.text:<24} BLEU {bleu:.3f}   ({reference}){note}")
    last = translations[-1]
    picture = render_attention(
        last.weights.numpy(), last.source_tokens, last.target_tokens, title=list(SENTENCES)[-1]
    )
    with writing(arguments.output, "--output"):
        arguments.output.write_bytes(png_bytes(picture))
    print(f"attention of the last sentence: {arguments.output}")
    return 0
