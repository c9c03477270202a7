"""The README's three hours, walked in a fresh clone as written: make first-hour.

Every command of the README has its place in `WALK`, with the minutes that it may take (twice those
of a slow day, or more) and what it has to print.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[1]
RUN = "runs/baseline/default"
FILES = {"test.en": "source", "test.fr": "reference", "sentences.txt": "source"}

WALK: dict[str, tuple[float, str]] = {
    "make train": (9, r"test +BLEU 9[5-9]\.\d"),
    "make demo": (2, r"demo\.html"),
    "python scripts/plot_attention.py": (1, r"picture\.png"),
    "python scripts/probe_attention.py": (4, r"stay: permuted weights"),
    "python scripts/export_attention.py": (1, r"page\.html"),
    "python train.py decoder=context": (9, r"test +BLEU [3-6]\d\."),
    "python train.py attention=scaled_dot": (9, r"test +BLEU 9\d\."),
    "python train.py -m attention=additive,scaled_dot": (30, r"6 finished"),
    "python scripts/compare_runs.py": (2, r"best"),
    "python scripts/rerun.py": (9, r"identical"),
    "python scripts/translate.py": (2, r""),
    "python scripts/evaluate.py": (2, r"95 %|BLEU"),
    "python scripts/align.py": (2, r""),
    "python train.py experiment=dates": (6, r"exact"),
    "python train.py experiment=reverse": (6, r"exact"),
    "python train.py experiment=numbers": (6, r"exact"),
}
"""By the beginning of the command: minutes, and what its output holds."""

NEEDS_DATA = ("python train.py data=", "make tensorboard", "make test")
"""Commands for text that the clone does not have, and those that do not end or have a target."""


def commands() -> Iterator[str]:
    """Those of the README, in order, and of the small tasks."""
    for page in ("README.md", "docs/tasks.md"):
        text = (ROOT / page).read_text("utf-8")
        for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                command = " ".join(line.partition(" #")[0].split())
                if command and not command.startswith(NEEDS_DATA):
                    yield command


def walk(clone: Path) -> Iterator[str]:
    """Run every command; what went wrong."""
    path = f"{clone / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in dict.fromkeys(commands()):
        known = [beginning for beginning in WALK if command.startswith(beginning)]
        if not known:
            yield f"{command}: has no place in {Path(__file__).name}"
            continue
        minutes, expected = WALK[max(known, key=len)]
        started = time.perf_counter()
        jobs = " sweep.jobs=2" if " -m " in command else ""
        done = subprocess.run(
            command + jobs, shell=True, cwd=clone, env=os.environ | {"PATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        taken = (time.perf_counter() - started) / 60
        print(f"{taken:5.1f} of {minutes:4.1f} min   {command}", flush=True)
        if done.returncode:
            yield f"{command}: status {done.returncode}: {done.stderr[-500:]}"
        elif not re.search(expected, done.stdout):
            yield f"{command}: {expected!r} is not in what it printed: {done.stdout[-500:]}"
        if taken > minutes:
            yield f"{command}: {taken:.1f} minutes"
        if command == "make train":
            give_files(clone)
            yield from example(clone, path)


def give_files(clone: Path) -> None:
    """The files that the commands name: sentences of the test split."""
    text = (clone / RUN / "translations" / "test.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for name, key in FILES.items():
        (clone / name).write_text("".join(f"{row[key]}\n" for row in rows if key in row), "utf-8")


def example(clone: Path, path: str) -> Iterator[str]:
    """The README's lines of Python."""
    readme = (ROOT / "README.md").read_text("utf-8")
    for block in re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL):
        done = subprocess.run(
            ["python", "-c", dedent(block)], cwd=clone, env=os.environ | {"PATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            yield f"the lines of Python: {done.stderr[-500:]}"


def main() -> int:
    """The exit status: 1 if anything is not as the README says."""
    folder = Path(tempfile.mkdtemp(prefix="first hour "))
    started = time.perf_counter()
    try:
        clone = folder / "seq2seq"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["make", "install"], cwd=clone, check=True)
        print(f"{(time.perf_counter() - started) / 60:5.1f} min to install", flush=True)
        wrong = list(walk(clone))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{(time.perf_counter() - started) / 60:5.1f} min in all", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
