"""How soon the page that translates answers: python tests/measure_page.py RUN --source test.en

In headless Chromium: from opening the file to its first translation, and from typing a sentence to
its translation, medians in milliseconds.
"""

import argparse
import shutil
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from seq2seq.tensorboard.translating_page import export_page

OPENINGS, SENTENCES = 5, 60

FIRST = """
new MutationObserver(() => {
  if (document.querySelector(".said")?.textContent) window.first ??= performance.now();
}).observe(document, { subtree: true, childList: true, characterData: true });
"""

TYPED = """async (sentence) => {
  const [line, said] = ["textarea", ".said"].map((each) => document.querySelector(each));
  const changed = { subtree: true, childList: true, characterData: true };
  const before = performance.now();
  const done = new Promise((resolve) => new MutationObserver(resolve).observe(said, changed));
  line.value = sentence;
  line.dispatchEvent(new Event("input"));
  await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 5000))]);
  return performance.now() - before;
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    arguments = parser.parse_args()
    sentences = arguments.source.read_text("utf-8").splitlines()[:SENTENCES]
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(export_page(arguments.run, sentences[0]), "utf-8")
        print(f"page {path.stat().st_size / 1e6:.2f} MB")
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened = []
        for _ in range(OPENINGS):
            page = chromium.new_page()
            page.add_init_script(FIRST)
            page.goto(path.as_uri())
            page.wait_for_function("window.first")
            opened.append(page.evaluate("window.first"))
        print(f"first translation {statistics.median(opened):.0f} ms")
        for kind in ("greedy", "beam"):
            page.get_by_role("radio", name=kind).click()
            typed = [page.evaluate(TYPED, sentence) for sentence in sentences]
            print(f"{kind} {statistics.median(typed):.0f} ms")
        chromium.close()


if __name__ == "__main__":
    main()
