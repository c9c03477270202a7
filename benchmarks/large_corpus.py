"""Measure a corpus larger than memory: seconds, resident memory, and the share of loading in a step.

    python benchmarks/large_corpus.py SOURCE TARGET --pairs 10000000

The files are repeated until there are so many pairs. Every pair of one epoch is drawn.
"""

import argparse
import resource
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from seq2seq.data import LargeText


def main() -> None:
    """Write the files, tokenize them, and draw one epoch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs=2, metavar="FILE")
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=2, help="that tokenize")
    parser.add_argument("--folder", default=None, help="for the files and the cache; a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sides = {}
        for side, file in zip(("source", "target"), options.files, strict=True):
            sides[side] = f"{folder}/{side}.txt"
            lines = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
            with open(sides[side], "w", encoding="utf-8") as written:
                written.writelines(islice(cycle(lines), options.pairs))
        started = time.perf_counter()
        data = LargeText(
            train=sides,
            validation=dict(zip(("source", "target"), options.files, strict=True)),
            cache=f"{folder}/cache",
            num_processes=options.processes,
        )
        print(
            f"read and tokenized in {time.perf_counter() - started:.0f} s: {len(data.prepared.train):,} pairs"
        )
        started = time.perf_counter()
        batches = data.train_dataloader()
        num_batches = sum(1 for _ in batches)
        seconds = time.perf_counter() - started
        print(
            f"one epoch drawn in {seconds:.0f} s: {seconds / num_batches * 1e3:.2f} ms a batch of {data.batch_size}"
        )
    for name, who in (
        ("this process", resource.RUSAGE_SELF),
        ("a process that tokenizes", resource.RUSAGE_CHILDREN),
    ):
        print(f"resident memory of {name} at most {resource.getrusage(who).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
