"""The program as people install it: python -m tests.installed ARCHIVE …   (make installed)

Installs a wheel or source archive into an environment of its own, which has the libraries of this
one, and works with the command `seq2seq` in an empty folder with a blank in its path.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from urllib.request import urlopen

from seq2seq.command_line.calling import COMMANDS
from tests.tiny import SMALL_CORPUS, SMALL_MODEL

TINY = ["recipe=small", *SMALL_CORPUS, *SMALL_MODEL, "data.train_pairs=200", "trainer.max_steps=2"]
TINY += ["decoding.beam=2", "tensorboard.heatmaps=1"]
OWN_DATA = """\
defaults:
  - parallel

source_language: en
target_language: fr
train: {source: en.txt, target: fr.txt}
validation: {fraction: 0.1}
tokenizer: {name: whitespace}
"""
OWN_TEXT = "".join(f"{first} {second} .\n" for first in "abcdefgh" for second in "ijklmn")
OF_A_CLONE = re.compile(r"python (train|scripts)|train\.py|Traceback|(?<!/)conf/\w")
"""What an installed program says nothing of."""


class Installed:
    """A program that is installed, and a folder to work in."""

    def __init__(self, archive, folder):
        self.environment, self.here = folder / "environment", folder / "an empty folder"
        self.here.mkdir()
        venv.create(self.environment, symlinks=True)
        self.python = self.environment / "bin" / "python"
        (site,) = self.environment.glob("lib/python*/site-packages")
        libraries = [path for path in sys.path if path.endswith("site-packages")]
        (site / "libraries.pth").write_text("\n".join(libraries))
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "install"]
        subprocess.run([*command, "--quiet", "--no-deps", str(archive)], check=True)
        names = os.environ.keys() - {"PYTHONPATH"}
        path = f"{self.python.parent}:{os.environ['PATH']}"
        self.variables = {name: os.environ[name] for name in names} | {"PATH": path}

    def __call__(self, line, *arguments, status=0, **variables):
        """Give a line to bash; returns what it says, all of it."""
        line = shlex.join([*shlex.split(line), *arguments]) if arguments else line
        print(f"$ {line[:110]}", flush=True)
        said = subprocess.run(
            ["bash", "-c", line],
            cwd=self.here,
            env=self.variables | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert said.returncode == status, f"{line}: status {said.returncode}\n{said.stdout}"
        assert not OF_A_CLONE.search(said.stdout.replace(str(self.environment), "")), said.stdout
        return said.stdout


def says_what_there_is(do):
    listed = do("seq2seq")
    for name in COMMANDS:
        assert f"  seq2seq {name} " in listed
        assert f"seq2seq {name} " in do(f"seq2seq {name} --help")
    assert do("seq2seq --version").startswith("seq2seq-attention ")
    wrong = do("seq2seq tran", status=2)
    assert wrong == "error: tran: there is no such command, did you mean train?; " + (
        "see seq2seq --help\n"
    )
    assert do("seq2seq train seeed=1", status=2).endswith("; see seq2seq train --help\n")


def completes(do):
    def completed(*words):
        line = " ".join(words)
        script = (
            f'eval "$(seq2seq train -sc install=bash)"; COMP_WORDS=({line}); '
            f"COMP_LINE='{line}' COMP_POINT={len(line)} COMP_CWORD={len(words) - 1}; "
            "hydra_bash_completion; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        return set(do(script).split())

    assert completed("seq2seq", "tra") == {"train", "translate"}
    assert completed("seq2seq", "train", "data=m") == {"data=multi30k"}
    assert "optim.warmup_steps=" in completed("seq2seq", "train", "optim.warm")
    if shutil.which("fish"):
        (do.here / "complete.fish").write_text(
            "seq2seq train -sc install=fish | source\ncomplete -C 'seq2seq train data=m'\n"
        )
        assert do("fish complete.fish").split() == ["data=multi30k"]


def trains(do):
    """Returns the folder of the run, relative to the working folder."""
    said = do("seq2seq train debug=fast")
    (next_command,) = re.findall(r"^translate   (.*)", said, re.MULTILINE)
    (do.here / "sentences.txt").write_text("I see it.\nThe cat sleeps.\n")
    assert do(f"{next_command} 2> unknown.txt").count("\n") == 2
    run = "runs/baseline/debug_fast"
    assert next_command.startswith(f"seq2seq translate {run} ")
    assert '"git": null' in (do.here / run / "ledger.json").read_text()
    return run


def uses(do, run):
    (do.here / "links").write_text("0-0 1-1\n0-0\n")
    both = "--source sentences.txt --{} sentences.txt"
    assert "BLEU" in do(f"seq2seq evaluate {run} {both.format('reference')} --beam 2")
    assert "AER" in do(f"seq2seq align {run} {both.format('target')} --gold links")
    do(f"seq2seq plot {run} --sentence 'I see it.' -o 'a picture.png'")
    assert "no context" in do(f"seq2seq probe-attention {run}")
    do(f"seq2seq log-attention {run} --input sentences.txt --beam 2")
    do(f"seq2seq export-attention {run} -o page.html")
    do(f"seq2seq export-page {run} -o translating.html")
    do(f"seq2seq export-onnx {run} -o onnx")
    assert (do.here / "a picture.png").read_bytes().startswith(b"\x89PNG")
    for page in ("page.html", "translating.html"):
        assert "<script" in (do.here / page).read_text("utf-8")


def sweeps_over_a_configuration_of_ones_own(do):
    (do.here / "my_conf" / "data").mkdir(parents=True)
    (do.here / "my_conf" / "data" / "mine.yaml").write_text(OWN_DATA)
    for language in ("en", "fr"):
        (do.here / f"{language}.txt").write_text(OWN_TEXT)
    tiny = [each for each in TINY if not each.startswith("data.")]
    own = ["--config-dir", "my_conf", "data=mine", "experiment_name=mine", *tiny]
    do("seq2seq train", *own, "name=alone")
    said = do("seq2seq train -m", *own, "seed=1,2", "name=swept")
    assert "2 finished" in said
    assert "bleu" in do("seq2seq compare runs/mine").lower()
    assert "\nidentical" in do("seq2seq rerun runs/mine/alone")


def trains_in_two_processes(do):
    do("seq2seq train device=ddp device.accelerator=cpu", *TINY[:-1], "name=two")


def opens_the_tab(do):
    line = ["-m", "tensorboard.main", "--logdir", "runs", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        [do.python, *line], cwd=do.here, env=do.variables, stderr=subprocess.PIPE, text=True
    ) as board:
        try:
            said = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in board.stderr)
            address = next(found[0] for found in said if found)
            with urlopen(f"{address}data/plugins_listing") as answer:
                assert b'"attention": {"disable_reload"' in answer.read()
            with urlopen(f"{address}data/plugin/attention/tab.js") as answer:
                assert answer.status == 200
        finally:
            board.terminate()


def main():
    for archive in sys.argv[1:]:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            do = Installed(Path(archive).resolve(), Path(folder))
            says_what_there_is(do)
            completes(do)
            uses(do, trains(do))
            sweeps_over_a_configuration_of_ones_own(do)
            trains_in_two_processes(do)
            opens_the_tab(do)
        print(f"{archive}: installed, and all of it works ({time.monotonic() - started:.0f} s)")


if __name__ == "__main__":
    main()
