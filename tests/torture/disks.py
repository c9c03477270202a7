"""Disks that fill up: of every size a run ends in one line, and goes on once there is room."""

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture.comparison import differences, left_by
from tests.torture.victims import command, log_of, main, run_child, script, start, wait

ROOM = 64 << 20
STEP = 4096


def fill(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Runs on disks of random sizes, up to a little more than they need; the sizes as a result."""
    whole = folder / "undisturbed" / "run"
    if run_child(whole):
        raise AssertionError(log_of(whole).read_text())
    needed = sum(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    generator = random.Random(9)
    for index in range(count):
        size = generator.randrange(1, int(1.2 * needed) // STEP + 8) * STEP
        try:
            with disk(folder / f"disk{index}", size) as place:
                yield f"a disk of {size:,} bytes", _filled(place, whole)
        except PermissionError as error:
            print(f"  SKIPPED disks: {error}", file=sys.stderr)
            return


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """A file system of a size; PermissionError where none can be mounted."""
    place.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(f"no file system can be mounted here ({done.stderr.strip()})")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _filled(place: Path, whole: Path) -> list[str]:
    run_dir, log = place / "runs" / "run", place.with_suffix(".out")
    status = wait(start(lambda: main(command(run_dir)), log))
    wrong = _said(status, log.read_text())
    subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(place)], check=True)
    if wait(start(lambda: main(command(run_dir)), log)):
        return [*wrong, f"does not continue: {log.read_text()[-1500:]}"]
    wrong += [f"{path} was left" for path in place.rglob("*.partial")]
    return wrong + differences(left_by(whole), left_by(run_dir))


def _said(status: int, said: str) -> list[str]:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    right = status == 0 and not errors
    right |= status == 1 and len(errors) == 1 and "free some space" in errors[0]
    return [] if right and "Traceback" not in said else [f"exit status {status}: {said[-1500:]}"]


def fill_outputs(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Translations that find no room: said in one line, and continued to the same file."""
    model = folder / "model" / "run"
    if run_child(model):
        raise AssertionError(log_of(model).read_text())
    text, expected = folder / "text", folder / "expected"
    text.write_text("the cat sees a dog\n" * 200)
    options = (model, "--input", text, "--window", 20, "--beam", 1, "--max-length", 0.5)
    wait(start(lambda: script("translate.py", *options, "--output", expected), folder / "out"))
    generator = random.Random(10)
    for index in range(count):
        output, log = folder / f"output{index}", folder / f"out{index}"
        bound = generator.randrange(0, expected.stat().st_size)

        def limited(output=output, bound=bound) -> int:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bound, bound))
            return script("translate.py", *options, "--output", output)

        # what the child says goes into a file, too
        status = wait(start(limited, Path(os.devnull)))
        wrong = [] if status == 1 else [f"exit status {status} where {bound} bytes were free"]
        again = (*options, "--output", output, "--resume")
        if not output.with_name(f"{output.name}.progress").exists():
            again = again[:-1]
        wait(start(lambda again=again: script("translate.py", *again), log))
        if output.read_bytes() != expected.read_bytes():
            wrong.append(f"another file after {bound} bytes: {log.read_text()[-1500:]}")
        yield f"translations, {bound} bytes free", wrong
    for name in ("translate.py", "align.py", "evaluate.py"):
        yield f"{name} > /dev/full", _to_full(folder, model, text, name)


def _to_full(folder: Path, model: Path, text: Path, name: str) -> list[str]:
    options = {"translate.py": ("--input", text), "align.py": ("--source", text, "--target", text)}
    rest = options.get(name, ("--source", text, "--reference", text))
    log = folder / f"{name}.out"

    def child() -> int:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        return script(name, model, *rest)

    return _said(wait(start(child, log)), log.read_text()) if log.parent.is_dir() else []
