"""A real browser on a real TensorBoard. Run by `make browser`; see docs/howto/viewing.md."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect, sync_playwright
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import add_attention
from tensorboard_attention.event_files import read_log_folder

ROOT = Path(__file__).parents[2]
RUNS = ("seed_1", "seed_2")
HOSTILE = ("<script>alert(1)</script>", "<img src=x onerror=alert(2)>", '"><b>bold</b>', "</svg>")
TINY = [
    "debug=fast", "experiment_name=baseline", "device=cpu", "data=grammar", "data.train_pairs=1000", "data.max_examples=300", "optimizer.lr=0.01",
    "trainer.max_epochs=4", "data.batch_size=16", "callbacks.attention.sentences=4",
]  # fmt: skip
MAX_SCREENSHOT = 150_000


def heads_like(target, source, *, heads, layer=0):
    """Weights of heads that look along the diagonal, each at a distance and a width of its own."""
    distance = np.subtract.outer(np.arange(len(target)), np.arange(len(source)))
    scores = [-((distance - head + 1) ** 2) / (1 + head + 3 * layer) for head in range(heads)]
    return np.stack([np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in scores])


HEADS_TEXTS = "The small cat does not see it . <eos>", "Le petit chat ne le voit pas . <eos>"
HEADS_SOURCE, HEADS_TARGET = (text.split() for text in HEADS_TEXTS)
LAYERS = {
    "one layer": heads_like(HEADS_TARGET, HEADS_SOURCE, heads=4),
    "two layers": [heads_like(HEADS_TARGET, HEADS_SOURCE, heads=3, layer=n) for n in (1, 2)],
}
TWELVE = [heads_like(HEADS_TARGET, HEADS_SOURCE, heads=12, layer=n) for n in range(12)]
EFFECTS = np.random.default_rng(0).normal(1, 2, size=(len(HEADS_TARGET), len(HEADS_SOURCE)))
CHINESE, ARABIC = [*"我喜欢喝绿茶。", "<eos>"], ["أحب", "شرب", "الشاي", "الأخضر", ".", "<eos>"]
LASTING = 1500
"""Steps of a run."""


def lasting_weights(step):
    """Of a step of that run, as records round them."""
    return np.rint(65535 * np.random.default_rng(step).random((60, 60))) / 65535


expect.set_options(timeout=20_000)  # a busy machine is no failure


def pytest_addoption(parser):
    parser.addoption("--chromium", default=shutil.which("chromium"), help="the browser to drive")
    parser.addoption(
        "--log-folder",
        type=Path,
        help="folder with the runs seed_1 and seed_2 to look at; two tiny ones are trained without",
    )
    parser.addoption("--screenshots", type=Path, help="folder to put the pictures of docs/images into")


@pytest.fixture(scope="session")
def trained(request, tmp_path_factory):
    """The folder of two runs of train.py."""
    given = request.config.getoption("--log-folder")
    if given is not None:
        return given
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(RUNS, start=1):
        command = [sys.executable, "train.py", *TINY, f"seed={seed}", f"name={name}"]
        subprocess.run([*command, f"paths.runs_dir={folder}"], cwd=ROOT, check=True, capture_output=True)
    return folder / "baseline"


@pytest.fixture(scope="session")
def log_folder(trained, tmp_path_factory):
    """Their event files, and beside them a run with hostile tokens and one that grows."""
    folder = tmp_path_factory.mktemp("logs")
    for name in RUNS:
        (folder / name).mkdir()
        for file in (trained / name).glob("events.out.tfevents.*"):
            shutil.copy(file, folder / name)
    with SummaryWriter(str(folder / "hostile")) as writer:
        add_attention(writer, "attention/0", np.eye(4), HOSTILE, HOSTILE, 1)
    with SummaryWriter(str(folder / "wide")) as writer:
        tokens = [f"token{number}" for number in range(60)]
        add_attention(writer, "long", np.eye(60), tokens, tokens, 1)
        (weights,) = heads_like(ARABIC, CHINESE, heads=1)
        add_attention(writer, "scripts", weights, CHINESE, ARABIC, 1)
    with SummaryWriter(str(folder / "heads")) as writer:
        for name, maps in LAYERS.items():
            add_attention(writer, name, maps, HEADS_SOURCE, HEADS_TARGET, 1)
    for step, marks in ((1, []), (2, ["it has not formed"]), (3, [])):
        own = {"effect": EFFECTS * step, "marks": marks}
        add_attention(folder / "tested", "s", LAYERS["one layer"], HEADS_SOURCE, HEADS_TARGET, step, **own)
    add_attention(folder / "layers", "s", TWELVE, HEADS_SOURCE, HEADS_TARGET, 1, kind="cross-attention")
    add_attention(folder / "frames", "sound", np.full((4, 150), 1 / 150), None, list("abcd"), 1)
    with SummaryWriter(str(folder / "lasting")) as writer:
        tokens = [f"t{number}" for number in range(60)]
        for step in range(LASTING):  # more than one answer holds
            add_attention(writer, "s", lasting_weights(step), tokens, tokens, step)
    return folder


@pytest.fixture(scope="session")
def data(log_folder):
    """What the records hold, read without TensorBoard: view of (run, tag)."""
    views = json.loads(json.dumps(read_log_folder(log_folder)["views"]))
    return {(view["run"], view["tag"]): view for view in views}


def _with_entry_points(folder):
    """The environment of a process that knows the models of seq2seq, also of a clone that is not installed again."""
    information = folder / "clone-0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: clone\nVersion: 0\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (function,) = project["entry-points"]["tensorboard_attention.models"].values()
    (information / "entry_points.txt").write_text(f"[tensorboard_attention.models]\nclone = {function}\n")
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@contextmanager
def tensorboard(folder, *arguments):
    """TensorBoard on a folder; gives its address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder)]
    options = ["--host", "127.0.0.1", "--port", "0", "--reload_interval", "1", *arguments]
    with (
        TemporaryDirectory() as programs,
        subprocess.Popen(
            [*command, *options], stderr=subprocess.PIPE, text=True, env=_with_entry_points(Path(programs))
        ) as process,
    ):
        try:
            for line in process.stderr:
                if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
                    yield found[0]
                    break
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def address(log_folder):
    with tensorboard(log_folder) as url:
        yield url


@pytest.fixture(scope="session")
def chromium(request):
    path = request.config.getoption("--chromium")
    if path is None:
        pytest.exit("no chromium found: install it, or give --chromium=PATH", 2)
    with sync_playwright() as playwright:
        # the sandbox needs rights that containers often lack; only our own pages are opened
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens addresses; afterwards, nothing may have gone wrong and no request left the machine."""
    contexts, errors, hosts = [], [], set()

    def note(request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "file"):
            hosts.add(parts.hostname)

    def open_at(url, **options):
        context = chromium.new_context(
            viewport={"width": 1280, "height": 800}, accept_downloads=True, **options
        )
        context.set_default_timeout(90_000)
        contexts.append(context)
        context.on("request", note)
        context.on("response", lambda answer: errors.extend(_refusals(answer)))
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        page.on("console", lambda message: errors.extend(_complaints(message)))
        page.goto(url)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not errors
    assert hosts <= {"127.0.0.1"}


def _refusals(answer):
    """Answers of the tab's own routes that are none."""
    if answer.status >= 400 and "/plugin/attention/" in answer.url:
        yield f"{answer.status} {answer.url}"


def _complaints(message):
    """What a page says is wrong. (TensorBoard itself lacks an icon.)"""
    if message.type == "error" and not message.text.startswith("Failed to load resource"):
        yield message.text


@pytest.fixture
def screenshot(request, tmp_path):
    """Keeps a picture in the folder that is asked for, small enough for the repository."""
    kept = request.config.getoption("--screenshots")

    def take(page, name):
        path = (kept or tmp_path) / f"{name}.png"
        page.screenshot(path=path)
        with Image.open(path) as picture:  # a palette would band the color scales
            picture.convert("RGB").save(path, optimize=True)
        assert not kept or path.stat().st_size <= MAX_SCREENSHOT

    return take
