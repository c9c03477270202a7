"""The command ``seq2seq``: finds the one that its first argument names."""

import ast
import os
import re
import sys
from importlib import import_module, metadata
from pathlib import Path

from seq2seq.command_line.calling import COMMANDS, set_command
from seq2seq.command_line.names import hint
from seq2seq.command_line.program import ended_by
from seq2seq.errors import InputError


def main() -> int:
    """Run a command; returns the exit status."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in {"-h", "--help"}:
        print(_help())
    elif name == "--version":
        print(f"seq2seq-attention {metadata.version('seq2seq-attention')}")
    elif {"-sc", "--shell-completion"} & {name, *arguments}:
        return _complete([each for each in sys.argv[1:] if each != "train"])
    elif name in COMMANDS:
        set_command(name, arguments)
        return _module_main(name)
    else:
        told = f"{name}: there is no such command{hint(name, COMMANDS)}; see seq2seq --help"
        return ended_by(InputError(told))
    return 0


def _module_main(name: str) -> int:
    status: int = import_module(f"seq2seq.commands.{_module(name)}").main()
    return status


def _module(name: str) -> str:
    return name.replace("-", "_")


def _help() -> str:
    lines = [f"  seq2seq {name:<18} {_purpose(name)}" for name in COMMANDS]
    return "\n".join([
        "Recurrent sequence-to-sequence translation with attention.\n",
        *lines,
        "\nEach says more with --help.",
    ])  # fmt: skip


def _purpose(name: str) -> str:
    """The first words of a command's description; nothing is imported for them."""
    code = Path(__file__).with_name(f"{_module(name)}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(code)) or "").partition(":")[0]


def _complete(arguments: list[str]) -> int:
    """What a shell asks for: the names of the commands, and after ``train`` what Hydra knows."""
    line = os.environ.get("COMP_LINE")
    typed = re.fullmatch(r"\s*(\S+)\s+(\S+)\s(.*)", line or "")
    if line is not None and typed is None:
        print("\n".join(COMMANDS))
        return 0
    if typed:
        if typed[2] != "train":  # a shell completes files itself
            return 0
        os.environ["COMP_LINE"] = f"{typed[1]} {typed[3]}"
    sys.argv = ["seq2seq", *arguments]  # the name that the shell is told to complete
    return _module_main("train")


if __name__ == "__main__":
    sys.exit(main())
