"""The command ``seq2seq NAME …``, and ``python -m seq2seq``."""

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from seq2seq.cli.interrupts import end_imports_on_interrupt
from seq2seq.common.progress import announce
from seq2seq.common.shipped import config_of, model_path
from seq2seq.errors import InputError
from seq2seq.run.devices import device_name

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


PRECISIONS = "fp32", "bf16", "int8"
LENGTH_PENALTIES = "none", "average", "gnmt"
MODEL_HELP = "a run folder, a model folder, or the name of a bundled model"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    end_imports_on_interrupt()
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
    if given[0] != "completion" and not {"-h", "--help"} & {*given}:
        announce(f"loading seq2seq {given[0]}")
    try:
        module = importlib.import_module(COMMANDS[given[0]][0])
        return module.main(given[1:]) or 0
    except KeyboardInterrupt:
        return 130


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Print the message, and exit with status 2."""
        words, options = (re.findall(r"--([\w-]+)", text) for text in (message, self.format_help()))
        nearest = [each for word in words for each in difflib.get_close_matches(word, options, n=1)]
        nearest += [each for word in words for each in options if word in each.split("-")]
        hint = f"did you mean --{nearest[0]}? " if nearest and "unrecognized" in message else ""
        self.exit(2, f"error: {message}; {hint}{self.prog} --help lists what it takes\n")


def checked(check: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a type of an argument: it returns what `check` returns, or ends the program with what `check` refuses."""

    def convert(text: str) -> Any:
        try:
            return check(text)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    return convert


@checked
def model(text: str) -> Path:
    """Return the folder of a model, which exists."""
    config_of(text)
    return model_path(text)


device = checked(device_name)


@checked
def input_file(text: str) -> Path:
    """Return the path of a file, which exists."""
    if not Path(text).exists():
        raise InputError(f"{text}: there is no such file")
    if Path(text).is_dir():
        raise InputError(f"{text} is a folder: give a file")
    return Path(text)


def count(text: str) -> int:
    """Return a whole number above 0."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number above 0 is needed")
    return int(text)


@checked
def port(text: str) -> int:
    """Return a port that a user may take."""
    if not (text.isdecimal() and 1024 <= int(text) <= 65535):
        raise InputError(f"--port {text}: choose one from 1024 to 65535")
    return int(text)


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
    if output is None:
        return
    if not output.parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.parent}")
    for path in inputs:
        if path is not None and path.exists() and output.exists() and path.samefile(output):
            raise InputError(f"{output} is an input, too: give another output")


def announce_replaced(*paths: Path) -> None:
    """Say which files, whose names the user did not give, are replaced."""
    if there := [str(path) for path in paths if path.exists()]:
        print(f"{' and '.join(there)}: replaced; give -o FILE to keep both", file=sys.stderr, flush=True)
