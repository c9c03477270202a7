"""Measure the Attention tab in Chromium: python -m benchmarks.attention_tab

Writes 10,000 records of 30 x 30 tokens twice, as one sentence of 10,000 steps and as 100 sentences of 100 steps, and
prints the time from opening TensorBoard's address until TensorBoard has made the tab's frame and until the matrix
shows, the same without TensorBoard's own page (its frame of the tab alone), and from a move of the slider until the
next picture with the new step: medians and the slowest of all. Before, the time from the start of TensorBoard until it
has read all records.
"""

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from playwright.sync_api import sync_playwright
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import add_attention
from tests.browser.conftest import tensorboard

TOKENS = [f"token{number}" for number in range(30)]
RUNS = {"steps": (1, 10_000), "sentences": (100, 100)}
"""Numbers of sentences and of steps."""

MOVE = """async (places) => {
  const range = document.querySelector(".time:not(.beside) input[type=range]");
  const picture = () => new Promise(requestAnimationFrame);
  const times = [];
  for (const place of places) {
    const start = performance.now();
    range.value = place;
    range.dispatchEvent(new Event("input"));
    const text = `${place + 1} of ${Number(range.max) + 1}`;
    while (document.querySelector(".time:not(.beside) .step small").textContent !== text) await picture();
    await picture();
    times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
}"""


def write(folder: Path) -> None:
    """Write the runs."""
    for name, (sentences, steps) in RUNS.items():
        with SummaryWriter(str(folder / name)) as writer:
            for step in range(steps):
                for sentence in range(sentences):
                    scores = np.random.default_rng([step, sentence]).normal(
                        size=(30, 30)
                    ) + 6 * step / steps * np.eye(30)
                    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
                    add_attention(writer, f"sentence {sentence}", weights, TOKENS, TOKENS, step, score=-1.0)


def wait_until_read(address: str) -> None:
    """Wait for TensorBoard to have read all records, which it does in the background."""
    for _ in range(600):
        runs = json.load(urlopen(f"{address}data/plugin/attention/index"))["runs"]
        last = {run["run"]: {tag["max_step"] for tag in run["tags"]} for run in runs}
        if last == {name: {steps - 1} for name, (_, steps) in RUNS.items()}:
            return
        time.sleep(0.2)
    raise TimeoutError("TensorBoard has not read all records in two minutes")


def said(milliseconds: list[float]) -> str:
    """Return the median and the maximum of times."""
    return f"median {statistics.median(milliseconds):6.0f} ms   slowest {max(milliseconds):6.0f} ms   of {len(milliseconds)}"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write(Path(name))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        started = time.perf_counter()
        with tensorboard(name) as address:
            wait_until_read(address)
            print(
                f"start of TensorBoard until all records are read: {1000 * (time.perf_counter() - started):.0f} ms"
            )
            for run, (_, steps) in RUNS.items():
                own, opened, alone = [], [], []
                for number in range(1, 6):
                    context = browser.new_context(viewport={"width": 1280, "height": 800})
                    page, start = context.new_page(), time.perf_counter()
                    page.goto(f"{address}#attention&p.attention.run={run}", wait_until="commit")
                    page.locator("iframe[src*='plugin_entry']").wait_for(timeout=90_000)
                    own.append(1000 * (time.perf_counter() - start))
                    tab = page.frame_locator("iframe[src*='plugin_entry']")
                    tab.locator("figure svg").first.wait_for(timeout=90_000)
                    opened.append(1000 * (time.perf_counter() - start))
                    if number < 5:
                        context.close()
                    other = browser.new_context(viewport={"width": 1280, "height": 800})
                    frame, start = other.new_page(), time.perf_counter()
                    frame.goto(
                        f"{address}data/plugin_entry.html?name=attention#run={run}", wait_until="commit"
                    )
                    frame.locator("figure svg").first.wait_for(timeout=90_000)
                    alone.append(1000 * (time.perf_counter() - start))
                    other.close()
                page.wait_for_load_state("networkidle")
                frame = tab.locator("body")
                near = frame.evaluate(
                    f"(_, places) => ({MOVE})(places)", list(range(steps - 2, steps - 42, -1))
                )
                far = np.random.default_rng(0).integers(steps, size=20).tolist()
                far = frame.evaluate(f"(_, places) => ({MOVE})(places)", far)
                context.close()
                print(f"{run:<10} TensorBoard alone {said(own)}")
                print(f"{run:<10} open              {said(opened)}")
                print(f"{run:<10} the tab alone     {said(alone)}")
                print(f"{run:<10} next step         {said(near)}")
                print(f"{run:<10} any step          {said(far)}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
