"""Measure time and memory of trainings by pairs, length and sizes: ``python -m benchmarks.duration``

Every row is a training of its own on made-up sentences: some steps, for which all pairs are read and tokenized. Printed
are target tokens a second, the time of an epoch of all its pairs at this rate, the time until training begins, and the
maximum resident memory of the process; first the load of the machine, which slows all of it.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

SIZES = {"recipe=small": 1_000, "recipe=multi30k": 8_000}
"""The sizes of the grammar's corpus and of Multi30k, and the number of words of each vocabulary."""
ROWS = (
    ("recipe=small", 12, 20_000),
    ("recipe=small", 12, 200_000),
    ("recipe=small", 50, 20_000),
    ("recipe=multi30k", 12, 20_000),
    ("recipe=multi30k", 50, 20_000),
)
"""Sizes, words of a sentence, training pairs."""


def write_text(folder: Path, split: str, num_words: int, length: int, pairs: int) -> Iterator[str]:
    """Write both sides of a split, random words; yield the overrides that name them."""
    draw = random.Random(length)
    for side in ("source", "target"):
        path = folder / f"{split}.{side}"
        with path.open("w", encoding="utf-8") as file:
            for _ in range(pairs):
                words = draw.choices(range(num_words), k=length)
                file.write(" ".join(f"w{word}" for word in words) + "\n")
        yield f"data.{split}.{side}={path}"


def measured(sizes: str, length: int, pairs: int, steps: int, folder: Path) -> tuple[float, float, float]:
    """Train some steps; return target tokens a second, seconds until training began, and GiB of memory."""
    num_words = SIZES[sizes]
    text = [
        *write_text(folder, "train", num_words, length, pairs),
        *write_text(folder, "validation", num_words, length, 100),
    ]
    keys = [
        "data=parallel", "data.source_language=en", "data.target_language=de", sizes, "tokenizer=words", *text, "device=cpu",
        f"data.tokenizer.vocab_size={num_words}", "trainer.max_epochs=1", f"trainer.limit_train_batches={steps}",
        f"trainer.log_every_n_steps={steps // 2}", "callbacks.attention=null", "decoding.beam_size=1",
        f"hydra.run.dir={folder}/run",
    ]  # fmt: skip
    with (folder / "said").open("w+", encoding="utf-8") as said:
        started = time.time()
        process = subprocess.Popen([sys.executable, "train.py", *keys], stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        said.seek(0)
        lines = said.read()
    speed = re.findall(r"epoch .* ([\d,]+) tokens/s", lines)
    if status or not speed:
        sys.exit(f"{' '.join(keys)} failed:\n{lines[-3000:]}")
    begun = (folder / "run" / "config.yaml").stat().st_mtime - started
    return float(speed[-1].replace(",", "")), begun, usage.ru_maxrss / 2**20


def main() -> None:
    """Measure every row, and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=60, help="of each training (default: 60)")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
    print(f"{'sizes':<16} {'words':>5} {'pairs':>8} {'tokens/s':>8} {'epoch':>8} {'begins':>7} {'memory':>9}")
    for sizes, length, pairs in ROWS:
        with TemporaryDirectory() as folder:
            speed, begun, memory = measured(sizes, length, pairs, options.steps, Path(folder))
        minutes = pairs * (length + 1) / speed / 60
        print(
            f"{sizes:<16} {length:>5} {pairs:>8,} {speed:>8,.0f} {minutes:>4.1f} min {begun:>5.0f} s {memory:>5.2f} GiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
