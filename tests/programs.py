"""Runs the programs of the repository."""

import multiprocessing
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

ROOT = Path(__file__).parents[1]

SCRIPTS = [
    str(path.relative_to(ROOT))
    for folder in ("scripts", "benchmarks")
    for path in sorted((ROOT / folder).glob("*.py"))
    if '__name__ == "__main__"' in path.read_text("utf-8")
    and path.name != "document_configuration.py"  # takes no options
]

LONGEST = 120
"""How long a program may take [s]."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "seq2seq.runs.run",
        "seq2seq.runs.fit",
        "seq2seq.runs.training_run",
        "seq2seq.sweeps.sweep",
        "tests.stores",
    ]
)
"""Forks processes from one that has loaded everything: in no time, and without copying threads.

There is one such process, and the last list of what it loads counts: this is the only one.
"""


def program(name, *arguments, stdin=b"", cwd=None, hook=None):
    """A program to its end, forked from a process that has loaded the libraries already.

    Loading them takes seconds. `started` starts a program as a user does.

    Args:
        name: its path in the repository.
        arguments: of its command line.
        stdin: what it reads.
        cwd: its working folder.
        hook: a function of a module that is called in its process first.
    """
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / stream for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(stdin)
        argv = [str(ROOT / name), *map(str, arguments)]
        process = FORKS.Process(
            target=_be_program, args=(argv, cwd or Path.cwd(), dict(os.environ), streams, hook)
        )
        process.start()
        process.join(LONGEST)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{argv} took more than {LONGEST} s")
        return CompletedProcess(
            argv, process.exitcode, *(each.read_bytes() for each in streams[1:])
        )


def started(name, *arguments, stdin=b"", cwd=None, into=None):
    """A program to its end, started by the interpreter.

    Args:
        name: see `program`.
        arguments: see `program`.
        stdin: see `program`.
        cwd: see `program`.
        into: a command that reads what it prints; the exit status remains that of the program.
    """
    command = [sys.executable, str(ROOT / name), *map(str, arguments)]
    if into is not None:
        line = f"{shlex.join(command)} | {into}; exit ${{PIPESTATUS[0]}}"
        command = ["bash", "-c", line]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, timeout=LONGEST, check=False
    )


def _be_program(argv, cwd, environment, streams, hook):
    """Become the program: what `python argv[0] …` would do."""
    for number, path in enumerate(streams):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        descriptor = os.open(path, flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = argv
    sys.path.insert(0, str(Path(argv[0]).parent))
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8") for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    if hook is not None:
        hook()
    runpy.run_path(argv[0], run_name="__main__")
