"""Part 6: random lines through the translator: as many lines out as in, always."""

import os
import random
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.torture.victims import ROOT, run_child, start, wait

KINDS = {
    "word": [],
    "bpe": ["data.tokenizer.name=bpe", "data.tokenizer.max_size=380"],
    "unigram": ["data.tokenizer.name=unigram", "data.tokenizer.max_size=380"],
}
"""The untrained models of subwords know all bytes, a line feed's too, and write them."""

ODD = "\r\t\v\f\0\x1c\x1d\x1e\x85\xa0\u2028\u2029\u200b\u200d\u2581\ufeff\ufffd\u0301\u202e🦊<>&"


def fuzz(folder: Path, seconds: float, *, longest: int = 200) -> Iterator[tuple[str, list[str]]]:
    """Translate generated lines for so long; yields what is wrong with each batch of lines.

    Args:
        folder: for all files.
        seconds: how long; each kind of model has its turn in any case.
        longest: how many characters a line has at most, which decides how long a batch takes.
    """
    for kind, overrides in KINDS.items():
        run_child(folder / kind / "run", ["trainer.max_steps=1", *overrides])
    generator = random.Random(7)
    end = time.monotonic() + seconds
    index = 0
    while index < len(KINDS) or time.monotonic() < end:
        kind = list(KINDS)[index % len(KINDS)]
        lines = [_line(generator, longest) for _ in range(200)]
        content = b"\n".join(lines) + b"\n" * (index % 2)
        yield f"{kind} {index}", _translate(folder, kind, content, index)
        index += 1


def _line(generator: random.Random, longest: int) -> bytes:
    length = int(generator.paretovariate(0.7)) % longest
    choice = generator.random()
    if choice < 0.1:
        return bytes(generator.randrange(256) for _ in range(length)).replace(b"\n", b"")
    if choice < 0.4:
        text = "".join(generator.choice(ODD) for _ in range(length))
    else:
        text = "".join(chr(generator.randrange(0x110000)) for _ in range(length))
    return text.replace("\n", "").encode("utf-8", "surrogatepass")


def _translate(folder: Path, kind: str, content: bytes, index: int) -> list[str]:
    source, target = folder / f"{index}.in", folder / f"{index}.out"
    source.write_bytes(content)
    status, said = translate_child(folder / kind / "run", source, target)
    expected = content.count(b"\n") + (not content.endswith(b"\n"))
    found = target.read_bytes().count(b"\n")
    if status or said or found != expected:
        return [f"exit status {status}, {expected} lines in, {found} out: {said[-1500:]}"]
    source.unlink()
    target.unlink()
    return []


def translate_child(run_dir: Path, source: Path, target: Path, *options: str) -> tuple[int, str]:
    """scripts/translate.py as a child, on files; exit status and messages."""

    def action() -> int:
        for number, path, flags in (
            (0, source, os.O_RDONLY),
            (1, target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            os.dup2(os.open(path, flags, 0o666), number)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.argv = ["translate.py", str(run_dir), *options]
        runpy.run_path(str(ROOT / "scripts" / "translate.py"), run_name="__main__")
        return 0

    said = target.with_suffix(".said")
    said.unlink(missing_ok=True)
    status = wait(start(action, said))
    return status, said.read_text()
