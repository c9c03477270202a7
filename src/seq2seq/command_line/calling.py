"""How the program was called: messages name its commands likewise, and so are jobs started."""

import re
import sys
from pathlib import Path

COMMANDS = {
    "train": "train.py",
    "translate": "scripts/translate.py",
    "evaluate": "scripts/evaluate.py",
    "compare": "scripts/compare_runs.py",
    "plot": "scripts/plot_attention.py",
    "align": "scripts/align.py",
    "probe-attention": "scripts/probe_attention.py",
    "log-attention": "scripts/log_attention.py",
    "export-attention": "scripts/export_attention.py",
    "export-page": "scripts/export_page.py",
    "export-onnx": "scripts/export_onnx.py",
    "rerun": "scripts/rerun.py",
    "speedrun": "scripts/speedrun.py",
    "claim": "scripts/claim.py",
    "textbook": "scripts/textbook.py",
    "kernel-regression": "scripts/kernel_regression.py",
}
"""The commands of ``seq2seq``, with the file of a clone that is another door to each."""

DOORS = {Path(file).name for file in COMMANDS.values()}
NAMED = re.compile(rf"\bseq2seq ({'|'.join(COMMANDS)})\b")


def set_command(name: str, arguments: list[str]) -> None:
    """From now on this process is ``seq2seq NAME ARGUMENTS``, which is its `sys.argv`."""
    sys.argv = [f"seq2seq {name}", *arguments]


def as_called(text: str) -> str:
    """A text that names commands, such as ``seq2seq translate``, as this one was called."""
    if Path(sys.argv[0]).name not in DOORS:
        return text
    return NAMED.sub(lambda match: f"python {COMMANDS[match[1]]}", text)


def own_command() -> list[str]:
    """What starts this program once more, but for its arguments."""
    if match := NAMED.fullmatch(sys.argv[0]):
        # -P: the modules of the folder that a person works in are not this program's
        return [sys.executable, "-P", "-m", "seq2seq.commands", match[1]]
    return [sys.executable, sys.argv[0]]
