"""What README and docs say: links lead somewhere, command lines compose, Python blocks run."""

import base64
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from PIL import Image

from hydra_checked.program import HYDRA_BASE
from scripts.write_pages import write_pages
from seq2seq.settings.application import OBJECTS
from seq2seq.settings.config import check
from tests.conftest import ROOT
from tests.small import settings_with

PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
MEASURED = {
    "4a5ef0e",
    "5f5b478",
    "70fb310",
    "bc831f1",
    "dfe1261",
    "ed5f586",
    "02e8300",
    "5118902",
    "26c6dd4",
    "0b98a19",
}
"""Commits whose figures hold, since what `tests/golden` records has not changed after them."""
LINK = re.compile(r"\]\(([^)\s]+)\)")


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name}: {link}"


def test_figures_are_of_commits_that_still_hold():
    pages = [*PAGES, *(ROOT / "conf").rglob("*.yaml")]
    commit = re.compile(r"\b(?:(?=\d*[a-f])(?=[a-f]*\d)|(?<=commit ))[0-9a-f]{7}\b")
    named = {found for page in pages for found in commit.findall(page.read_text(encoding="utf-8"))}
    assert named == MEASURED, "measure again, or delete the figure"


def typed(pattern):
    """Matches of a pattern in the lines of the shell blocks, each once, with a name for the test."""
    found = {}
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if match := re.match(pattern, line.split("  #")[0].strip()):
                    words = tuple(" ".join(group.split()) for group in match.groups())
                    found.setdefault(words, f"{page.name}:{' '.join(words)[:60]}")
    return found.items()


def command_lines():
    for (line,), name in typed(r"(?:torchrun \S+ |srun |python )+train\.py(.*)"):
        if "…" not in line:
            yield pytest.param(line, id=name)


@pytest.mark.parametrize("line", list(command_lines()))
def test_a_command_line_composes(line):
    words = [word for word in shlex.split(line) if word not in ("-m", "--cfg", "job", "--resolve")]
    if {"--config-dir", "--config-path"} & set(words) or re.search(r"mine\.|my_file\.|glob\(", line):
        pytest.skip("needs files of the reader's")
    if "submitit" in line:
        pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    words = [
        re.sub(r"=(?:tag\(log,)?(?:int\()?(?:interval|range)\(([^,]+),.*", r"=\1", word) for word in words
    ]
    single = [re.sub(r"^(?!.*\[)([\w./]+=)([^,'\"]+),.*", r"\1\2", word) for word in words]
    settings = settings_with(*(word for word in single if not re.match("(name|experiment_name|seed)=", word)))
    if settings is None:
        with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
            config = compose("config", single, return_hydra_config=True)
        config.name, config.paths.run_dir = "x", "runs/x"
    else:
        config = settings.config
    for node in OBJECTS:
        check(config[node], node)
    assert "_target_" in OmegaConf.to_container(config.model, resolve=True)


@pytest.mark.parametrize("name", ["concepts/attention.md", "howto/extending.md"])
def test_python_blocks_run(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    names = {"__name__": "docs"}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), names)


ELSEWHERE = ("FOLDER", "--steps", " --to ", "--baseline")
"""Commands that need other files or runs: tests/program."""


def script_lines():
    commands = "translate|evaluate|align|compare|plot|export attention|export onnx|export page|show"
    for (command, line), name in typed(rf"seq2seq ({commands}|data-report) (.*)"):
        if not any(word in line for word in ELSEWHERE):
            yield pytest.param(command, line, id=name)


@pytest.fixture(scope="module")
def desk(wordy_run, tmp_path_factory):
    """A folder with the files and runs that the commands and blocks of the docs name."""
    folder = tmp_path_factory.mktemp("desk")
    english, french = ["I see it.", "The cat sleeps."], ["Je le vois.", "Le chat dort."]
    for name, lines in {
        "sentences.txt": english, "test.en": english, "test.fr": french, "test.de": french, "FILE": english,
        "words.txt": ["the"], "test.pharaoh": ["0-0", "0-0 1-1"], "train.en.gz": english, "train.de.gz": french,
    }.items():  # fmt: skip
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name in ("RUN", "RUN1", "RUN2", "RUN3", "RUN4", "BOTH", "EN_FR", "FR_EN", "runs/a", "runs/b",
                 "runs/baseline/default", "runs/own/mine"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(wordy_run, folder / name)
    for side, language in (("source", "fr"), ("target", "en")):
        path = folder / "FR_EN/model" / f"{side}.json"
        codec = json.loads(path.read_text(encoding="utf-8"))
        codec["arguments"]["language"] = language
        path.write_text(json.dumps(codec), encoding="utf-8")
    path = folder / "FR_EN/model/config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["sha256"]
    path.write_text(json.dumps(config), encoding="utf-8")
    shutil.copytree(ROOT / "data/samples", folder / "data/samples")
    (folder / "docs/images").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(("command", "line"), list(script_lines()))
def test_a_command_of_the_docs_runs(command, line, desk, program):
    words = shlex.split(line)
    stdin = desk / words[words.index("<") + 1] if "<" in words else None
    ends = [words.index(each) for each in ("<", ">") if each in words]
    done = program(*words[: min(ends, default=None)], cwd=desk, command=command, stdin=stdin)
    assert done.status == 0, done.text


@pytest.mark.parametrize("name", ["README.md", "docs/howto/python.md",
                                  "docs/howto/viewing.md"])  # fmt: skip
def test_python_blocks_of_a_page_run(name, desk, monkeypatch):
    import torch

    monkeypatch.chdir(desk)
    text = (ROOT / name).read_text(encoding="utf-8").split("## Lightning alone")[0]
    names = {
        "__name__": "docs", "target_states": torch.rand(1, 3, 64), "memory": torch.rand(1, 4, 64), "step": 1,
        "source_tokens": ["a", "b", "c", "<eos>"], "target_tokens": ["x", "y", "<eos>"], "weights": torch.rand(3, 4),
        "model": torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True), "source": torch.rand(2, 4, 8),
        "target": torch.rand(2, 3, 8), "probe": {"src": torch.rand(2, 4, 8), "tgt": torch.rand(2, 3, 8)},
    }  # fmt: skip
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        few = '"debug=fast", "data.max_examples=32", "data.batch_size=4", "threads=1", "trainer.max_epochs=1"'
        fast = f'{few}, "name={Path(name).stem}{number}"'
        if "cross_attentions" in block:  # packages/tensorboard-attention/tests/test_cross_attention.py
            continue
        quick = block.replace('"trainer.max_epochs=1"', fast).replace("*languages,", f"*languages, {fast},")
        exec(compile(quick, name, "exec"), names)
    if "writer" in names:  # its thread writes into this folder
        names["writer"].close()


def test_the_twenty_lines_of_the_docs_train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/howto/python.md").read_text(encoding="utf-8").split("## Lightning alone")[1]
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    quiet = "logger=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0"
    names = {"__name__": "docs"}
    exec(compile(block.replace("max_epochs=2,", f"max_epochs=2, {quiet},"), "python.md", "exec"), names)
    assert 0 < float(names["trainer"].callback_metrics["val/loss"]) < 5
    assert Path(names["trainer"].checkpoint_callback.best_model_path).is_file()


@pytest.mark.long
@pytest.mark.parametrize("name", ["attention", "score", "training"])
def test_a_notebook_runs(name, tmp_path, request):
    if not request.config.getoption("--notebooks"):
        pytest.skip("takes minutes: --notebooks")
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    stored = first_picture(notebook)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    made = first_picture(notebook)  # of a shipped model
    assert made.shape == stored.shape
    assert np.abs(made - stored).mean() < 2, "it is drawn otherwise now: make notebooks"


def first_picture(notebook):
    """The first figure in the outputs of a notebook."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    coded = next(output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(coded))).convert("RGB"), dtype=float)


def test_readme_is_short_and_the_pages_have_at_most_16000_words():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "api" not in page.parts)]
    words = (re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8")) for page in pages)
    assert sum(map(len, words)) <= 16_000


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with the configuration and the pages of the website, ready for a builder."""
    folder = tmp_path_factory.mktemp("website")
    write_pages(folder / "build/pages")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for part in ("src", "packages"):
        (folder / part).symlink_to(ROOT / part)
    return folder


def test_pages_are_written_with_what_is_generated(project):
    pages = project / "build/pages"
    text = {name: (pages / f"{name}.md").read_text(encoding="utf-8") for name in
            ("index", "concepts/alignment", "reference/keys", "reference/commands", "tutorials/attention")}  # fmt: skip
    assert (
        "[All keys](reference/keys.md)" in text["index"]
    )  # in a clone it leads to the files that the page is made of
    assert 'src="live/everyday-en-fr.html"' in text["index"]
    assert all(
        (pages / f"live/everyday-en-{code}.html").stat().st_size > 100_000 for code in ("de", "es", "fr")
    )
    assert "| `data.batch_size` | `64` |" in text["reference/keys"]
    assert "| `data.corpora.en-de.train` |" in text["reference/keys"]
    for section in text["reference/keys"].split("\n##"):
        keys = re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE)
        assert len(keys) == len({*keys}), section
        values = re.findall(r"^\| `\S+` \| (.*) \| [^|]*\|$", section, re.MULTILINE)
        assert max(map(len, " ".join(values).split()), default=0) < 60  # the table fits beside the navigation
    assert "seq2seq translate" in text["reference/commands"]
    assert all((pages / "tutorials" / image).is_file() for image in re.findall(r"\((attention_\d\.png)\)", text["tutorials/attention"]))  # fmt: skip
    for line in text["concepts/alignment"].splitlines():
        assert line.count("<math") == line.count("</math>")
        assert "|" not in "".join(re.findall("<math.*?</math>", line))  # it would end the cell of a table
    assert "<math" in text["concepts/alignment"]
    assert "$" not in re.sub(r"(?s)```.*?```|`[^`]*`", "", text["concepts/alignment"])
    for page in pages.rglob("*.md"):
        for link in LINK.findall(re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))):
            assert "://" in link or link[0] == "#" or (page.parent / link.partition("#")[0]).exists(), (
                page,
                link,
            )


def test_pages_that_are_written_again_change_only_where_they_differ(project):
    pages = project / "build/pages"
    (pages / "scope.md").write_text("old", encoding="utf-8")
    (pages / "gone.md").touch()
    before = {path: path.stat().st_mtime_ns for path in pages.rglob("*.*")}
    write_pages(pages)
    after = {path: path.stat().st_mtime_ns for path in pages.rglob("*.*")}
    assert {path.name for path in before if before[path] != after.get(path)} == {"scope.md", "gone.md"}


@pytest.mark.long  # make docs builds it too
@pytest.mark.parametrize("builder", ["zensical", "mkdocs", "properdocs"])
def test_the_website_is_built_without_a_warning(builder, project):
    pytest.importorskip(builder)
    if builder != "zensical":
        pytest.importorskip("material", reason="its theme")
    command = [sys.executable, "-m", builder, "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (project / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?)"', text), page
    assert "<math" in (project / "site/concepts/models.html").read_text(encoding="utf-8")
    assert "data.batch_size" in (project / "site/reference/keys.html").read_text(encoding="utf-8")


def test_the_chinese_notebook_has_the_code_of_the_english_one():
    books = (
        json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
        for name in ("attention.ipynb", "attention.zh.ipynb")
    )
    english, chinese = (
        [(cell["cell_type"], cell["cell_type"] == "code" and cell["source"]) for cell in cells]
        for cells in books
    )
    assert english == chinese


def test_notebooks_hold_no_error():
    for path in Path(ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        kinds = {output["output_type"] for cell in cells for output in cell.get("outputs", ())}
        assert "error" not in kinds
        assert not re.search(r"/\w+/\S*\.venv", path.read_text(encoding="utf-8"))  # of one machine
