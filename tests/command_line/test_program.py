"""How every program of scripts/ ends."""

import ast
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from seq2seq.command_line.calling import COMMANDS
from seq2seq.command_line.program import program_parser, run_program, writing
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from tests.programs import ROOT, SCRIPTS, started

STUB = """
import sys, time
from seq2seq.command_line.program import program_parser, run_program

def work(arguments):
    print("begun", flush=arguments.wait)
    if arguments.wait:
        time.sleep(60)
    print("x\\n" * arguments.lines, end="")
    return arguments.status

parser = program_parser("A program.")
parser.add_argument("--lines", type=int, default=0)
parser.add_argument("--status", type=int, default=0)
parser.add_argument("--wait", action="store_true")
sys.exit(run_program(parser, work))
"""


@pytest.fixture
def stub(tmp_path):
    path = tmp_path / "stub.py"
    path.write_text(STUB)
    return path


def ended(monkeypatch, capsys, error):
    """Exit status of a program that raises an error, and what it says."""

    def work(arguments):
        raise error

    monkeypatch.setattr(sys, "argv", ["program.py"])
    status = run_program(program_parser("A program."), work)
    printed = capsys.readouterr()
    assert printed.out == ""
    return status, printed.err


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_program_ends_by_the_same_rules(name):
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    assert ast.unparse(tree.body[-1].body) == "sys.exit(main())"
    doors = [command for command, door in COMMANDS.items() if door == name]
    if doors:
        command = f"seq2seq.commands.{doors[0].replace('-', '_')}"
        assert f"from {command} import main" in ast.unparse(tree)
        tree = ast.parse(Path(import_module(command).__file__).read_text("utf-8"))
    else:
        assert name.startswith("benchmarks/")
    (main,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main")
    assert ast.unparse(main.body[-1]).startswith("return run_program(")
    assert "argparse.ArgumentParser(" not in ast.unparse(tree)


@pytest.mark.parametrize(("kind", "status"), [(InputError, 2), (TrainingFailed, 1)])
def test_wrong_input_and_failed_training_are_one_line_each(monkeypatch, capsys, kind, status):
    assert ended(monkeypatch, capsys, kind("so: do")) == (status, "error: so: do\n")


def test_interrupted_training_says_how_to_continue(monkeypatch, capsys):
    status, said = ended(monkeypatch, capsys, TrainingInterrupted(15, Path("last.ckpt")))
    assert status == 128 + 15
    assert said.endswith("progress kept in last.ckpt; the same command continues\n")


def test_ctrl_c_ends_quietly_with_status_130(stub):
    command = [sys.executable, str(stub), "--wait"]
    # a test run in the background of a shell ignores Ctrl-C, and so would what it starts
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **heard
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("lines", [0, 100_000])
@pytest.mark.parametrize("into", ["true", "head -n 1"])
def test_a_closed_pipe_ends_quietly_with_status_0(stub, monkeypatch, lines, into, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = started(stub, "--lines", lines, into=into)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (b"begun\n" if into == "head -n 1" else b"")


def test_help_into_a_closed_pipe_ends_quietly(stub):
    done = started(stub, "--help", into="true")
    assert (done.returncode, done.stderr) == (0, b"")


def test_output_that_is_not_open_does_not_matter(stub):
    command = f"{sys.executable} {stub} --status 3 >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (3, b"")


def test_a_name_that_is_no_text_is_printed(stub):
    named = STUB.replace('"begun"', "os.fsdecode(b'\\xff')").replace("import sys", "import os, sys")
    stub.write_text(named)
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, stub], env=environment, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\udcff\n", b"")


def test_a_name_that_is_too_long_is_one_line(monkeypatch, capsys):
    try:
        Path("x" * 300).exists()
    except OSError as error:
        found = ended(monkeypatch, capsys, error)
    assert found == (2, f"error: {'x' * 300} is longer than a name can be: shorten it\n")


def test_a_file_that_cannot_be_written_is_a_wrong_option(tmp_path):
    path = tmp_path / "absent" / "page.html"
    message = rf"^{path} cannot be written \(No such file or directory\): give another -o$"
    with pytest.raises(InputError, match=message), writing(path, "-o"):
        path.write_text("page")


@pytest.mark.parametrize("kind", [InputError, TrainingFailed])
def test_what_a_program_says_is_one_line_without_control_signs(monkeypatch, capsys, kind):
    _, said = ended(monkeypatch, capsys, kind("a\x1b[31m\x07b\r\nc\x9b2J [/x]"))
    assert said == "error: a\ufffd[31m\ufffdb c\ufffd2J [/x]\n"
