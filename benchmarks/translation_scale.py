"""What translating a very long file costs: time, memory, and whether a kill leaves a trace."""

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from seq2seq.decoding.resumable_output import SUFFIX
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import load_grammar

ROOT = Path(__file__).parents[1]
INTERVAL = 0.2
"""Seconds between two looks at a process."""

PAIRS_AT_A_TIME = 5000


@dataclass(frozen=True, slots=True)
class TranslationCost:
    """Of one file.

    Attributes:
        num_lines: of the file.
        seconds: wall time, start of the program included.
        resident: MiB of resident memory, seen once a window, from the second window on.
        private: MiB of memory that is this process's alone, likewise.
        killed_at: lines that were translated when a second attempt was killed.
        is_equal: whether that attempt, resumed, left the same file.
    """

    num_lines: int
    seconds: float
    resident: list[float]
    private: list[float]
    killed_at: int
    is_equal: bool

    def report(self) -> str:
        """The figures as lines."""
        rate = self.num_lines / self.seconds
        return "\n".join(
            [
                f"lines      {self.num_lines:,} in {self.seconds:,.0f} s, {rate:,.1f} a second",
                f"resident   {_range(self.resident)}",
                f"private    {_range(self.private)}",
                f"kill -9    after {self.killed_at:,} lines; resumed output "
                f"{'equal' if self.is_equal else 'DIFFERENT'}",
            ]
        )


def _range(values: list[float]) -> str:
    """First, least and greatest value, and how far they are from their middle."""
    low, high = min(values), max(values)
    spread = (high - low) / (high + low)
    return f"{values[0]:.0f} MiB at first, {low:.0f} to {high:.0f} MiB, ±{spread:.1%}"


def measure_translation(
    model_folder: Path, num_lines: int, *, window: int = 2048
) -> TranslationCost:
    """Translate lines of the built-in grammar greedily: undisturbed, then killed and resumed.

    Args:
        model_folder: a run folder, or a model/ folder.
        num_lines: of the file; at least four windows.
        window: lines that are sorted by length at a time.

    Raises:
        InputError: there are too few lines, or the model is not there.
    """
    if num_lines < 4 * window:
        raise InputError(f"{num_lines:,} lines are too few: memory is seen once in {window:,}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, whole, resumed = (folder / each for each in ("source", "whole", "resumed"))
        write_lines(source, num_lines)
        command = [
            sys.executable, str(ROOT / "scripts" / "translate.py"), str(model_folder),
            "--beam", "1", "--input", str(source), "--window", str(window), "--resume", "--output",
        ]  # fmt: skip
        started = time.monotonic()
        seen = list(_watched([*command, str(whole)], whole))
        seconds = time.monotonic() - started
        killed_at = _killed([*command, str(resumed)], resumed, num_lines // 2)
        subprocess.run([*command, str(resumed)], check=True)
        is_equal = whole.read_bytes() == resumed.read_bytes()
    by_window = dict(reversed(seen))  # the first look at every window
    kept = [by_window[lines] for lines in sorted(by_window) if lines >= window]
    resident, private = ([each[place] for each in kept] for place in (0, 1))
    return TranslationCost(num_lines, seconds, resident, private, killed_at, is_equal)


def write_lines(path: Path, num_lines: int) -> None:
    """Write English lines of the built-in grammar."""
    grammar = load_grammar(ROOT / "data" / "grammar")
    texts = (
        pair.source for seed in count() for pair in grammar.sample(PAIRS_AT_A_TIME, seed, "train")
    )
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in islice(texts, num_lines))


def _watched(command: list[str], output: Path) -> Iterator[tuple[int, tuple[float, float]]]:
    """Lines translated, and resident and private memory in MiB, while a program runs."""
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            lines, memory = _lines_done(output), _memory(process.pid)
            if memory is not None:
                yield lines, memory
            time.sleep(INTERVAL)
    if process.returncode:
        raise InputError(f"{' '.join(command)} ended with status {process.returncode}")


def _killed(command: list[str], output: Path, num_lines: int) -> int:
    """Kill a program as soon as so many lines are translated; returns how many were."""
    with subprocess.Popen(command) as process:
        while process.poll() is None and _lines_done(output) < num_lines:
            time.sleep(INTERVAL)
        process.send_signal(signal.SIGKILL)
    return _lines_done(output)


def _lines_done(output: Path) -> int:
    """What the file beside the output says."""
    try:
        text = output.with_name(output.name + SUFFIX).read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    found = re.search(r'"lines": (\d+)', text)
    return int(found[1]) if found else 0


def _memory(process: int) -> tuple[float, float] | None:
    """Resident and private MiB of a process, as Linux counts them; None when it has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        if not Path("/proc/self").is_dir():
            raise InputError("memory is measured on Linux only") from None
        return None
    kilobytes = {name: int(value) for name, value in re.findall(r"(\w+): +(\d+) kB", text)}
    if "Rss" not in kilobytes:
        return None
    return kilobytes["Rss"] / 1024, (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1024
