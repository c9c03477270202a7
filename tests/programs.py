"""Runs the programs as a user starts them."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SCRIPTS = [
    f"scripts/{path.name}"
    for path in sorted((ROOT / "scripts").glob("*.py"))
    if path.name != "document_configuration.py"  # takes no options
]


def program(name, *arguments, stdin=b"", cwd=None, into=None):
    """A program to its end.

    Args:
        name: its path in the repository.
        arguments: of its command line.
        stdin: what it reads.
        cwd: its working folder.
        into: a command that reads what it prints; the exit status remains that of the program.
    """
    command = [sys.executable, str(ROOT / name), *map(str, arguments)]
    if into is not None:
        line = f"{shlex.join(command)} | {into}; exit ${{PIPESTATUS[0]}}"
        command = ["bash", "-c", line]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, timeout=120, check=False
    )
