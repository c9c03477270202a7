"""How fast the Attention tab answers and how large its records are: python tests/measure_viewing.py

Writes a run of 200 sentences by 100 steps, 14 target by 12 source tokens each, starts TensorBoard
on it with either loader, and times its answers.
"""

import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from seq2seq.tensorboard.records import log_attention

SENTENCES, STEPS, ROWS, COLUMNS = 200, 100, 14, 12
NUM_VIEWS = 20


def write(folder):
    """The run; returns the seconds that a record took."""
    generator = np.random.default_rng(0)
    words = [f"word{number}" for number in range(5000)]
    sentences = [
        (generator.choice(words, COLUMNS).tolist(), generator.choice(words, ROWS).tolist())
        for _ in range(SENTENCES)
    ]
    started = time.perf_counter()
    with SummaryWriter(str(folder)) as writer:
        for step in range(STEPS):
            for number, (source, target) in enumerate(sentences):
                logits = generator.normal(scale=1 + 5 * step / STEPS, size=(ROWS, COLUMNS))
                weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
                tag = f"attention/{number}"
                log_attention(writer, tag, weights, source, target, step, score=-12.5, bleu=37.0)
    return (time.perf_counter() - started) / (SENTENCES * STEPS)


def serve(folder, *arguments):
    """Start TensorBoard; returns the process and its address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", *arguments], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        found = re.search(r"http://127\.0\.0\.1:\S+", line)
        if found:
            return process, found[0]
    raise RuntimeError("TensorBoard did not start")


def fetched(url):
    """An answer and the milliseconds that it took."""
    started = time.perf_counter()
    with urlopen(url) as answer:
        content = answer.read()
    return content, 1000 * (time.perf_counter() - started)


def measure(folder, *arguments):
    """Milliseconds of the index, and the median and worst of a view."""
    process, address = serve(folder, *arguments)
    try:
        route = f"{address}data/plugin/attention"
        last = urlencode({"run": ".", "tag": f"attention/{SENTENCES - 1}/forced"})
        while True:
            try:
                if fetched(f"{route}/view?{last}")[0].count(b'"step"') == STEPS:
                    break
            except OSError:  # still reading
                time.sleep(0.5)
        _, index = fetched(f"{route}/index")
        queries = [
            urlencode({"run": ".", "tag": f"attention/{number}/forced"})
            for number in range(0, SENTENCES, SENTENCES // NUM_VIEWS)
        ]
        views = sorted(fetched(f"{route}/view?{query}")[1] for query in queries)
        return index, views[len(views) // 2], views[-1]
    finally:
        process.terminate()
        process.wait()


def main():
    """Print the figures."""
    with TemporaryDirectory() as folder:
        seconds = write(Path(folder))
        (file,) = Path(folder).iterdir()
        size = file.stat().st_size
        print(f"{SENTENCES} sentences x {STEPS} steps, {ROWS} x {COLUMNS} tokens")
        print(f"event file {size / 1e6:.1f} MB, {size / SENTENCES / STEPS:.0f} bytes a record")
        print(f"writing    {1000 * seconds:.2f} ms a record")
        for name, arguments in (("fast", []), ("slow", ["--load_fast=false"])):
            index, median, worst = measure(folder, *arguments)
            print(
                f"{name} loader  index {index:.0f} ms, view {median:.0f} ms, worst {worst:.0f} ms"
            )


if __name__ == "__main__":
    main()
