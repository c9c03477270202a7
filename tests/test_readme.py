"""Every command of the README and of the pages behind it, run as it stands, but smaller."""

import gzip
import re
import shlex
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from seq2seq.commands import train
from tests.programs import program
from tests.tiny import SMALL_MODEL

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [(ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("data", "runs")]

SHRUNK = [
    *[override for override in SMALL_MODEL if not override.startswith("device")],
    "model.readout_size=8",
    "data.limit=40",
    "trainer.max_steps=2",
    "tensorboard.heatmaps=1",
    "decoding.beam=2",
]
OF_GRAMMAR = ["data.train_pairs=40", "data.validation_pairs=5", "data.test_pairs=5"]
OF_TATOEBA = ["data.validation_pairs=5", "data.test_pairs=5"]

ELSEWHERE = {
    "python scripts/probe_attention.py runs/baseline/default": "test_programs.py",
}
"""Commands that another test runs."""


def commands():
    """The lines of every shell block, comments left out, continued lines joined."""
    found = {}
    for block in re.findall(r"```sh\n(.*?)```", "\n".join([README, *PAGES]), flags=re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = " ".join(line.partition(" #")[0].split())
            if command:
                found[command] = None
    return list(found)


SWEEPS = [command for command in commands() if command.startswith("python train.py -m")]
TRAINING = [
    command
    for command in commands()
    if command.startswith("python train.py") and command not in SWEEPS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, grammar):
    """A working folder with all that the README's commands name."""
    folder = tmp_path_factory.mktemp("readme")
    pairs = grammar.sample(700, 1, "train")
    sides = {"en": [pair.source for pair in pairs], "fr": [pair.target for pair in pairs]}
    files = folder / "FOLDER"
    for language, sentences in sides.items():
        text = "".join(f"{sentence}\n" for sentence in sentences)
        (folder / f"train.{language}").write_text(text)
        (folder / f"test.{language}").write_text("".join(f"{s}\n" for s in sentences[:5]))
        for root in (files, folder / "data" / "multi30k"):
            root.mkdir(parents=True, exist_ok=True)
            for split in ("train", "val", "test_2016_flickr"):
                (root / f"{split}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "sentences.txt").write_text("I see it.\n")
    table = "".join(f"{pair.source}\t{pair.target}\tCC-BY\n" for pair in pairs)
    (files / "fra.txt").write_text(table)
    with zipfile.ZipFile(files / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", table)
        archive.writestr("_about.txt", "about")
    return folder


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    monkeypatch.chdir(request.getfixturevalue("folder"))
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", "cache")


def shrunk(command):
    """Arguments of a training command, made small by further overrides."""
    arguments = [argument.replace("device=gpu", "device=cpu") for argument in command.split()[2:]]
    if any(argument.startswith("experiment=") for argument in arguments):
        return [*arguments, *SHRUNK]
    data = next((a.partition("=")[2] for a in arguments if a.startswith("data=")), "grammar")
    sizes = {"grammar": OF_GRAMMAR, "tatoeba": OF_TATOEBA}.get(data, [])
    vocabulary = [] if data == "grammar" else ["data.tokenizer.max_size=400"]
    return [*arguments, *SHRUNK, *sizes, *vocabulary]


@pytest.fixture(scope="module")
def baseline(folder):
    """`make train`: the run that the later commands use."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("HYDRA_FULL_ERROR", "1")
        patched.setattr(sys, "argv", ["train.py", *shrunk("python train.py"), "name=default"])
        assert train.main() == 0
    return folder / "runs" / "baseline" / "default"


@pytest.mark.parametrize("command", SWEEPS)
def test_sweep_commands_list_their_jobs(folder, command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["train.py", *command.split()[2:], "sweep.dry_run=true"])
    assert train.main() == 0
    assert capsys.readouterr().out.count("seed=") >= 6


@pytest.mark.parametrize("command", TRAINING)
def test_training_commands_train(baseline, command, monkeypatch, capsys):
    if "data=hf" in command:
        hub = pytest.importorskip("datasets", reason="needs the extra hf")
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", baseline / "cache")
        hub.disable_progress_bars()
        command = command.replace("FOLDER", "HUB")  # a folder of nothing else
        jsonl_splits(Path("HUB"))
    monkeypatch.setattr(sys, "argv", ["train.py", *shrunk(command)])
    status = train.main()
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert "batches" in printed.out if "debug=data" in command else "results " in printed.out


def jsonl_splits(folder):
    folder.mkdir()
    rows = "".join(
        f'{{"translation": {{"en": "a {word}", "fr": "un {word}"}}}}\n' for word in "bcdefgh" * 9
    )
    for split in ("train", "validation", "test"):
        (folder / f"{split}.jsonl").write_text(rows)


@pytest.mark.parametrize(
    "command", [command for command in commands() if command.startswith("python scripts/")]
)
def test_commands_on_a_trained_model_answer(baseline, command):
    if command in ELSEWHERE:
        assert (ROOT / "tests" / ELSEWHERE[command]).is_file()
        return
    line, _, into = command.partition(" > ")
    line, _, read = line.partition(" < ")
    done = program(*shlex.split(line)[1:], stdin=Path(read).read_bytes() if read else b"")
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode()
    if into:
        assert said
        return
    _, named, files = command.replace(" --output ", " -o ").partition(" -o ")
    made = re.findall(r"\S+\.(?:html|png|txt)", files if named else said)
    assert "BLEU" in said or (made and all(Path(path).stat().st_size for path in made))


def test_the_example_in_python_translates(baseline, capsys):
    example = next(
        block
        for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if "translator" in block
    )
    exec(compile(dedent(example), "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_every_other_command_is_a_target_of_make():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    others = [c for c in commands() if not c.startswith(("python train.py", "python scripts/"))]
    assert others
    for command in others:
        make, target = command.split()[:2]
        assert make == "make"
        assert f"\n{target}: " in makefile, command


def test_the_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?!tests/)\w+/[\w/]+\.py)`", text))
    assert named
    for name in named:
        places = (ROOT / "src" / "seq2seq" / name, ROOT / "src" / name, ROOT / name)
        assert any(path.is_file() for path in places), name


def test_the_readme_is_short_and_every_page_is_in_the_index():
    assert len(README.splitlines()) <= 180
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 15
    assert [page for page in pages if f"]({page})" not in index] == ["README.md"]


def test_every_page_begins_with_its_title():
    for page in (ROOT / "docs").rglob("*.md"):  # one had lost its first half
        assert page.read_text("utf-8").startswith("# "), page


def test_every_file_and_heading_that_a_page_names_is_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for path, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", read(page)):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), (page, path)
            assert not heading or heading in headings(target), (page, path, heading)


def headings(page):
    """The names by which links find the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", read(page), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def read(page):
    return page.read_text("utf-8")
