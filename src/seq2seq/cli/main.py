"""The command ``seq2seq NAME …``, and ``python -m seq2seq``."""

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from hydra_checked import did_you_mean
from seq2seq.cli.interrupts import end_imports_on_interrupt, require_standard_error
from seq2seq.cli.parser import parser_of
from seq2seq.common import VERSION
from seq2seq.common.progress import announce

COMMANDS = {
    "train": "train a model: keys and groups of the configuration",
    "translate": "translate lines",
    "show": "translate a sentence and show its attention on a page",
    "demo": "try a shipped model",
    "serve": "answer requests over HTTP, with the page that translates",
    "evaluate": "score a model on a test set",
    "compare": "compare settings over seeds and sentences",
    "judge": "judge a change of any program over its seeds",
    "align": "align the words of two files",
    "plot": "draw attention: PNG, PDF, SVG, or a GIF of its formation",
    "export": "ONNX, an HTML page of attention or of the model, a model folder",
    "data-report": "check a corpus before training",
}
"""Name -> a line of help. The command is the function of this name in the module of this name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    end_imports_on_interrupt()
    require_standard_error()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--version"]:
        print(VERSION)
        return 0
    if not given or given[0] in ("-h", "--help"):
        print("usage: seq2seq COMMAND …    (seq2seq COMMAND --help)\n")
        print("\n".join(f"  {name:<17} {text}" for name, text in COMMANDS.items()))
        return 0
    if given[0] not in COMMANDS:
        hint = did_you_mean(given[0], COMMANDS)
        print(
            f"error: seq2seq {given[0]}: there is no such command; {hint}choose one of {', '.join(COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    if not {"-h", "--help"} & {*given}:
        announce(f"loading seq2seq {given[0]}")
    try:
        if given[0] == "train":
            from seq2seq.cli.train import main as train

            train(given[1:])
            return 0
        function = command(given[0])
        options = parser_of(given[0], function).parse(given[1:])
        from hydra_checked.program import exit_on_error
        from seq2seq.settings.application import APPLICATION

        warnings.formatwarning = lambda message, *_, **__: (
            f"WARNING: {message}\n"
        )  # without a line of the code
        with exit_on_error(APPLICATION):
            function(**options)
        return 0
    except KeyboardInterrupt:
        return 130


def command(name: str) -> Callable[..., Any]:
    """Import the function of a command."""
    module = name.replace("-", "_")
    return getattr(importlib.import_module(f"seq2seq.cli.{module}"), module)
