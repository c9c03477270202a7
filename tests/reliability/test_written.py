"""A run replaces and removes what it has written, and nothing else."""

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

import seq2seq
from seq2seq.common.errors import InputError, TrainingFailed
from seq2seq.export.card import save_pretrained
from seq2seq.models.folder import load_model_folder, save_model_folder
from seq2seq.run.run import run as run_of
from seq2seq.settings.config import composed, settings_of
from tests.conftest import TINY

pytestmark = pytest.mark.usefixtures("short_corpora")

OF_HYDRA = "train.log", ".hydra/config.yaml"
FOLDERS = (
    "",
    "model",
    "checkpoints",
    "tokenizers",
    "predictions",
    "csv",
    "csv/version_0",
    ".hydra",
    "mine/model",
)
NAMES = ("net.py", "source.txt", "config.json.bak", "last.ckpt.bak", "best-mine.ckpt", "test.mine.txt", "table.csv",
         "events.out.tfevents.1.host.2.0", "README.md", "reports.txt", ".config.yaml", "train.log.1")  # fmt: skip
IN_THE_WAY = ("config.yaml", "overrides.yaml", "metrics.json", "reports.jsonl", "train.log", "tokenizers/source.json",
              "model/config.json", "model/model.safetensors", "predictions/test.greedy.txt", "checkpoints/last.ckpt",
              "checkpoints/best.ckpt", "predictions", "tokenizers/target.json/x", "metrics.json/x")  # fmt: skip


def held(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(folder, names):
    """Put files of the user's into a folder; returns what they hold by name."""
    draw, mine = random.Random(0), {}
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(draw.randrange(40)))
        mine[name] = path.read_bytes()
    return mine


def foreign(number):
    """Names of files in random places of the folder of a run, such as are not in its way."""
    draw, names = random.Random(1), set()
    while len(names) < number:
        parts = draw.choice(FOLDERS), f"{draw.choice(['', draw.randrange(99)])}{draw.choice(NAMES)}"
        names.add("/".join(filter(None, parts)))
    return sorted(names)


def own(name):
    return os.path.basename(name) not in ("train.log", ".seq2seq", ".lock") and not name.startswith(".hydra")


@pytest.fixture
def run(tiny_run, tmp_path):
    """A copy of a finished run."""
    return shutil.copytree(tiny_run, tmp_path / "run")


def test_a_run_leaves_200_files_of_the_users_as_they_are(run, program):
    mine, tiny = put(run, foreign(200)), [*TINY, "logger=[tensorboard,csv]", f"hydra.run.dir={run}"]
    for given in (["seed=3", "trainer.max_epochs=3"], ["overwrite=true"]):
        before = {name for name in held(run) if name.startswith("events") and name not in mine}
        program(*tiny, *given, cwd=run.parent, check=0)
        after = held(run)
        assert {name: content for name, content in after.items() if name in mine} == mine
        assert bool(before & after.keys()) == (given != ["overwrite=true"])


@pytest.mark.parametrize("overwrite", [(), ("overwrite=true",)])
def test_a_file_of_the_users_in_the_way_is_one_line_before_anything_is_written(overwrite, tmp_path):
    folder = tmp_path / "run"
    given = *TINY, f"hydra.run.dir={folder}", *overwrite
    with composed(given) as config:
        settings = settings_of(config, given, folder)
    for name in IN_THE_WAY[:: 5 if overwrite else 1]:
        put(folder, [name, "mine.txt"])
        before = held(folder)
        with pytest.raises(InputError) as refused:
            run_of(settings)
        assert str(folder / name.removesuffix("/x")) in str(refused.value)
        assert held(folder) == before
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", OF_HYDRA)
def test_hydra_replaces_no_file_of_the_users(name, program, tmp_path):
    put(tmp_path / "run", [name, ".hydra/mine.yaml"])
    before = held(tmp_path / "run")
    done = program(*TINY, "hydra.run.dir=run", cwd=tmp_path, check=2)
    (line,) = done.text.strip().splitlines()
    assert str(tmp_path / "run" / name) in line
    assert held(tmp_path / "run") == before


def test_a_command_that_is_refused_leaves_a_folder_of_the_users_as_it_was(program, tmp_path):
    put(tmp_path / "run", [".hydra/mine.yaml", "mine.txt"])
    before = held(tmp_path / "run")
    program(*TINY, "hydra.run.dir=run", "data.max_length=1", cwd=tmp_path, check=2)
    assert held(tmp_path / "run") == before


def test_checkpoints_of_another_run_are_not_replaced(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elsewhere = f"callbacks.checkpoint.dirpath={run / 'checkpoints'}"
    before = held(run)
    with pytest.raises(InputError, match=r"best\.ckpt is in the way"):
        seq2seq.train(*TINY, elsewhere)
    put(tmp_path / "runs/baseline/debug_fast", ["checkpoints/a-step=4.ckpt"])
    several = "+callbacks.checkpoint.save_top_k=2", "callbacks.checkpoint.filename='a-{step}'"
    with pytest.raises(TrainingFailed, match=r"a-step=4\.ckpt is in the way"):
        seq2seq.train(*TINY, *several)
    assert held(run) == before
    assert len((tmp_path / "runs/baseline/debug_fast/checkpoints/a-step=4.ckpt").read_bytes()) < 40


@pytest.mark.parametrize("moment", ["moved", pytest.param("begun", marks=pytest.mark.long)])
def test_an_overwrite_that_is_killed_before_its_first_checkpoint_has_not_been(moment, run, program):
    def dies():
        rename, count = Path.rename, iter(range(99))

        def kill(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        def half(self, target):
            return kill() if ".replaced" in str(target) and next(count) == 5 else rename(self, target)

        from seq2seq.training import TranslationModule

        Path.rename, TranslationModule.on_train_epoch_start = (
            (half, kill) if moment == "moved" else (rename, kill)
        )

    before, tiny = held(run), [*TINY, f"hydra.run.dir={run}"]
    killed = program(*tiny, "overwrite=true", "seed=5", cwd=run.parent, prepare=dies)
    assert killed.status == -signal.SIGKILL
    done = program(*tiny, "seed=3", "trainer.max_epochs=2", cwd=run.parent, check=0)
    assert "is finished" in done.text
    assert {name: content for name, content in held(run).items() if own(name)} == {
        name: content for name, content in before.items() if own(name)
    }


def test_checkpoints_behind_a_link_are_of_the_run_and_are_not_removed(run, program, tmp_path):
    shutil.move(run / "checkpoints", tmp_path / "scratch")
    (run / "checkpoints").symlink_to(tmp_path / "scratch")
    tiny = [*TINY, f"hydra.run.dir={run}"]
    program(*tiny, "seed=3", "trainer.max_epochs=3", cwd=tmp_path, check=0)
    before = held(tmp_path / "scratch")
    done = program(*tiny, "overwrite=true", cwd=tmp_path, check=2)
    assert "scratch/best.ckpt" in done.text.splitlines()[-1]
    assert held(tmp_path / "scratch") == before


def test_a_hostile_list_reaches_no_file_outside_of_its_folder(run, program, tmp_path):
    mine = put(tmp_path / "mine", ["thesis.tex", "best.ckpt"])
    (run / "linked").symlink_to(tmp_path / "mine")
    names = [
        "../mine/thesis.tex",
        str(tmp_path / "mine/thesis.tex"),
        "linked/thesis.tex",
        ".partial-x/../../mine",
        "\0",
        "[",
        "..",
        "",
    ]
    with (run / ".seq2seq").open("a") as file:
        file.write("".join(f"\n{json.dumps(name)}" for name in names) + '\n{"a": 1}\n[[\n"half')
    program(*TINY, "overwrite=true", f"hydra.run.dir={run}", cwd=tmp_path, check=0)
    assert held(tmp_path / "mine") == mine


def test_a_model_folder_replaces_only_a_model_that_nobody_has_changed(run, tmp_path):
    saved, folder = load_model_folder(run), tmp_path / "saved"
    save_model_folder(folder, saved)
    save_model_folder(folder, saved, precision="int8")  # over its own
    whole = held(folder)
    for name, content in {
        "net.py": b"x",
        "model.safetensors": b"x",
        "sub/a": b"x",
        "README.md": b"x",
        "config.json": b"{}",
    }.items():
        other = shutil.copytree(folder, tmp_path / name.replace("/", "-"))
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_bytes(content)
        before = held(other)
        with pytest.raises(InputError, match="stays"):
            save_model_folder(other, saved)
        assert held(other) == before
    with pytest.raises(InputError, match="stays"):
        save_model_folder(folder / "config.json", saved)
    assert held(folder) == whole
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_card_that_was_changed_is_kept(run, tmp_path):
    folder = save_pretrained(run, tmp_path / "card")
    assert save_pretrained(run, folder, precision="int8") == folder
    card = folder / "README.md"
    assert f"# {folder.name}" in card.read_text()
    card.write_text(f"{card.read_text()}\nmine")
    before = held(folder)
    with pytest.raises(InputError, match=r"README\.md"):
        save_pretrained(run, folder)
    assert held(folder) == before


@pytest.mark.parametrize(("command", "name"), [
    ("export page MODEL -o out.html", "out.html"),
    pytest.param("export attention MODEL -o out.html", "out.html", marks=pytest.mark.long),
    pytest.param("show MODEL dog --no-open -o out.html", "out.html", marks=pytest.mark.long),
    ("demo MODEL --sentence dog --no-open", "demo.html"),
    pytest.param("export onnx MODEL -o graphs", "graphs/step.onnx", marks=pytest.mark.long),
    ("export model MODEL -o folder", "folder/net.py"),
])  # fmt: skip
def test_an_export_replaces_its_own_files_and_no_others(command, name, run, program, tmp_path):
    if "onnx" in command:
        pytest.importorskip("onnx")
    words = [str(run) if word == "MODEL" else word for word in command.split()]
    options = {"cwd": tmp_path, "script": "src/seq2seq/__main__.py"}
    put(tmp_path, [name])
    before = held(tmp_path)
    (line,) = program(*words, **options, check=2).text.strip().splitlines()
    assert name in line
    assert held(tmp_path) == before
    (tmp_path / name).unlink()
    for _ in range(2):
        program(*words, **options, check=0)
