"""The command ``seq2seq NAME …``, and ``python -m seq2seq``."""

import argparse
import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

COMMANDS = {
    "train": ("seq2seq.cli.train", "train a model: keys and groups of the configuration"),
    "translate": ("seq2seq.cli.translate", "translate lines"),
    "show": ("seq2seq.cli.show", "translate a sentence and show its attention on a page"),
    "demo": ("seq2seq.cli.demo", "try a bundled model"),
    "serve": ("seq2seq.cli.serve", "answer requests over HTTP, with the page that translates"),
    "evaluate": ("seq2seq.cli.evaluate", "score a model on a test set"),
    "compare": ("seq2seq.cli.compare", "compare settings over seeds and sentences"),
    "align": ("seq2seq.cli.align", "align the words of two files"),
    "plot": ("seq2seq.cli.plot", "draw attention: PNG, PDF, SVG, or a GIF of its formation"),
    "probe": ("seq2seq.cli.probe", "test whether predictions depend on attention"),
    "record-attention": ("seq2seq.cli.record_attention", "write a model's attention for TensorBoard"),
    "export": ("seq2seq.cli.export", "ONNX, an HTML page of attention or of the model, a model folder"),
    "data-report": ("seq2seq.cli.data_report", "check a corpus before training"),
    "completion": ("seq2seq.cli.completion", "print the completion of bash or zsh"),
}
"""Name -> module with a function `main`, and a line of help."""


MODEL_HELP = "a run folder, a model folder, or the name of a bundled model"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--version"]:
        from seq2seq import __version__

        print(__version__)
        return 0
    if not given or given[0] in ("-h", "--help"):
        print("usage: seq2seq COMMAND …    (seq2seq COMMAND --help)\n")
        print("\n".join(f"  {name:<17} {text}" for name, (_, text) in COMMANDS.items()))
        return 0
    if given[0] not in COMMANDS:
        nearest = difflib.get_close_matches(given[0], COMMANDS, n=1)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        print(
            f"error: seq2seq {given[0]}: there is no such command; {hint}choose one of {', '.join(COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    module = importlib.import_module(COMMANDS[given[0]][0])
    return module.main(given[1:]) or 0


class Parser(argparse.ArgumentParser):
    """A parser that names what replaces an option of an earlier version."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit with status 2."""
        from seq2seq.old_names import old_keys

        old = [word for word in message.split() if word in old_keys()]
        super().error(f"{message}; {old[0]} is now {old_keys()[old[0]]}" if old else message)


def parser_of(name: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    return Parser(
        prog=f"seq2seq {name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def check_output(output: Path | None, *inputs: Path | None) -> None:
    """Refuse an output file that is one of the inputs, or whose folder is missing.

    Raises:
        InputError: Naming the file.
    """
    from seq2seq.errors import InputError

    if output is None:
        return
    if not output.parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.parent}")
    for path in inputs:
        if path is not None and path.exists() and output.exists() and path.samefile(output):
            raise InputError(f"{output} is an input, too: give another output")
