"""Mistakes are refused before PyTorch is loaded and leave no folder; Ctrl-C while modules load ends silently."""

import json
import os
import pty
import random
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hydra_checked import nearest, nearest_key
from seq2seq.cli.main import main
from seq2seq.run.folder import save_config
from seq2seq.settings.application import APPLICATION
from seq2seq.settings.config import composed, settings_of
from tests.conftest import ROOT

PARALLEL = ["train", "data=parallel", "data.source_language=en", "data.target_language=fr",
            "data.split.validation=0.2", "data.train.source=a.en"]  # fmt: skip

REFUSED = {
    "model": ["translate", "nowhere"],
    "device": ["translate", "grammar-en-fr", "--device", "mps"],
    "input": ["translate", "grammar-en-fr", "--source", "nowhere"],
    "sentence and file": ["translate", "grammar-en-fr", "A cat.", "--source", "a.en"],
    "option": ["translate", "grammar-en-fr", "--bem-size", "3"],
    "seed of no sample": ["translate", "grammar-en-fr", "A cat.", "--seed", "3"],
    "beam of samples": ["translate", "grammar-en-fr", "A cat.", "--sample", "--beam-size", "3"],
    "exponent of no penalty": ["translate", "grammar-en-fr", "A cat.", "--length-penalty-alpha", "1"],
    "port": ["serve", "grammar-en-fr", "--port", "80"],
    "picture of nothing": ["plot", "nowhere", "A cat."],
    "lines of a score": ["evaluate", "grammar-en-fr", "--source", "a.en", "--reference", "short.fr"],
    "links": ["align", "grammar-en-fr", "--source", "a.en", "--target", "short.fr"],
    "no graph": ["export", "onnx", "nowhere", "-o", "graph"],
    "report": ["data-report", *PARALLEL[1:], "data.train.target=short.fr"],
    "missing file": [*PARALLEL, "data.train.target=nowhere"],
    "lines": [*PARALLEL, "data.train.target=short.fr"],
    "encoding": [*PARALLEL, "data.train.target=latin.fr"],
    "binary": [*PARALLEL, "data.train.target=binary.fr"],
    "batch": ["train", "data.batch_size=0"],
    "beam of one": ["train", "decoding.beam_size=1", "metric=val/beam/bleu"],
    "no pair": ["train", "data=tasks", "data.train_pairs=0"],
    "most held out": [*PARALLEL, "data.train.target=a.en", "data.split.validation=0.6"],
    "a name that is a number": ["train", "name=1_0"],
    "penalty of an earlier version": ["train", "decoding.length_penalty=gnmt"],
    "name of a penalty for its node": ["train", "decoding.penalty=gnmt"],
    "beam size of greedy search": ["train", "decoding=greedy", "decoding.beam_size=3"],
    "penalty of greedy search": ["train", "decoding=greedy", "penalty=gnmt"],
    "exponent of no gnmt": ["train", "decoding.penalty.alpha=1"],
    "decay of no average": ["train", "averaging=none", "callbacks.averaging.decay=0.9"],
    "normalizer of the mean": ["train", "attention=average", "model.decoder.attention.normalizer=sparsemax"],
    "key of the search": ["train", "+decoding.beamsize=3"],
    "precision": ["train", "trainer.precision=16-true"],
    "metric without a split": ["train", "metric=bleu"],
    "no epoch": ["train", "trainer.max_epochs=0"],
    "no file, and no language": ["train", "data=tsv", "data.file=nowhere"],
    "start": ["train", "init_from=nowhere"],
    "checkpoint": ["train", "ckpt_path=nowhere"],
    "accelerator": ["train", "device=mps"],
    "missing value": ["train", "data=tsv"],
    "time": ["train", "trainer.max_time=2"],
    "key of the root that nothing reads": ["train", "+optimzer.lr=0.1"],
    "key of the root in a file": ["train", "--config-dir", "own", "experiment=misspelled"],
    "no package of an experiment": ["train", "--config-dir", "own", "experiment=headless"],
    "no package of a group of one's own": ["train", "--config-dir", "own", "+mine=headless"],
    "schedule of a run's configuration": ["train", "--config-path", "HERE/saved", "--config-name", "config", "scheduler=plateau"],
    "attention of a run's configuration": ["train", "--config-path", "HERE/saved", "--config-name", "config", "attention=dot"],
    "another working folder": ["train", "hydra.job.chdir=true"],
    "option of another export": ["export", "page", "grammar-en-fr", "-o", "p.html", "--precision", "int8"],
}  # fmt: skip

CALLER = """
import contextlib, io, json, sys
from seq2seq.cli.main import main

found = {}
for name, arguments in json.load(sys.stdin).items():
    said = io.StringIO()
    sys.__stderr__ = said
    with contextlib.redirect_stderr(said):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
    found[name] = [status, said.getvalue(), "torch" in sys.modules]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """The folder where all mistakes were made by one process; and status, text and whether torch was loaded, of each."""
    folder = tmp_path_factory.mktemp("early")
    (folder / "a.en").write_text("A cat .\n" * 30)
    (folder / "short.fr").write_text("Un chat .\n" * 29)
    (folder / "latin.fr").write_bytes("D\u00e9j\u00e0 .\n".encode("latin-1") * 30)
    (folder / "binary.fr").write_bytes(bytes(range(256)) * 9)
    for name, first in (("misspelled", "# @package _global_\n"), ("headless", "")):
        for group in ("experiment", "attention", "mine"):
            (folder / "own" / group).mkdir(parents=True, exist_ok=True)
            (folder / "own" / group / f"{name}.yaml").write_text(f"{first}optimzer:\n  lr: 0.1\n")
    (folder / "saved").mkdir()
    with composed() as config:
        save_config(settings_of(config, [], folder / "saved").config, folder / "saved")
    lines = json.dumps(REFUSED).replace("HERE", str(folder))
    done = subprocess.run([sys.executable, "-c", CALLER], input=lines, cwd=folder, text=True,
                          capture_output=True, check=True)  # fmt: skip
    return folder, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_one_line_before_pytorch_is_loaded(name, refused):
    status, said, loaded = refused[1][name]
    assert (status, said.count("\n"), loaded) == (2, 1, False), said
    assert said.startswith("error: ")
    key, _, value = REFUSED[name][-1].lstrip("+").partition("=")
    assert REFUSED[name][0] != "train" or key in said or value in said or "optimzer" in said, said


def test_runs_that_were_refused_leave_no_folder(refused):
    assert not (refused[0] / "runs").exists()


def test_a_folder_that_holds_a_file_of_the_users_stays(program, tmp_path):
    notes = tmp_path / "runs/baseline/mine/notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    program("data.batch_size=0", "name=mine", cwd=tmp_path, check=2)
    program("data.batch_size=0", "name=yours", cwd=tmp_path, check=2)
    assert notes.is_file()
    assert [path.name for path in notes.parents[1].iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("line", "module"),
    [
        (["train.py"], "hydra"),
        (["-m", "seq2seq", "translate", "grammar-en-fr", "A cat."], "torch"),
        (["-m", "seq2seq", "compare", "runs"], "numpy"),
    ],
)
def test_ctrl_c_while_a_module_is_loaded_ends_silently(line, module, tmp_path):
    source = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / f"{module}.py").write_text(source)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    runs = [f"paths.runs_dir={tmp_path}/runs"] if line == ["train.py"] else []
    done = subprocess.run(
        [sys.executable, *line, *runs],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    "line", [["train.py"], ["train.py", "-m", "seed=1,2"], ["-m", "seq2seq", "train", "-m", "seed=1,2"]]
)
def test_a_terminal_hears_of_a_start_before_the_first_library_is_loaded(line, tmp_path):
    (tmp_path / "hydra.py").write_text("raise SystemExit(7)\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    main, other = pty.openpty()
    done = subprocess.run(
        [sys.executable, *line], check=False, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=other
    )
    os.close(other)
    with os.fdopen(main, "rb") as terminal:
        said = terminal.read1(1000)
    assert (done.returncode, done.stdout) == (7, b"")
    assert said.startswith(b"loading ")
    piped = subprocess.run(
        [sys.executable, *line], check=False, cwd=ROOT, env=environment, capture_output=True
    )
    assert (piped.returncode, piped.stdout + piped.stderr) == (7, b"")


def test_train_without_the_environment_is_one_line():
    done = subprocess.run(
        [sys.executable, "-S", "-I", ROOT / "train.py"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "make install" in done.stderr


def make(*arguments, cwd):
    return subprocess.run(["make", *arguments], check=False, cwd=cwd, capture_output=True, text=True)


def test_make_tensorboard_checks_runs_and_port_before_it_installs(tmp_path):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    done = make("tensorboard", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no folder runs")
    (tmp_path / "runs").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for words in ([f"PORT={port}"], [f"ARGS=--port {port}"], [f"ARGS=--port={port}"]):
            done = make("tensorboard", *words, cwd=tmp_path)
            assert done.stderr.startswith(f"error: port {port} ")
    assert not (tmp_path / ".venv").exists()


def test_the_next_commands_are_those_of_the_environment(tmp_path, monkeypatch):
    from seq2seq.run.summary import summary

    metrics = {"seconds": 1.0, "test": {"greedy": {"bleu_signature": "x", "num_sentences": 1}}}
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions/val.source.txt").write_text("\nIt's me.\n")
    bin_folder = str(Path(sys.executable).parent)
    for path, first in ((bin_folder, "seq2seq"), ("/usr/bin", f"{bin_folder}/seq2seq")):
        monkeypatch.setenv("PATH", path)
        line = next(each for each in summary(metrics, tmp_path).splitlines() if "translate" in each)
        words = shlex.split(line)
        assert (words[0], str(Path(words[1]).absolute()) if "/" in words[1] else words[1]) == (
            "translate",
            first,
        )
        assert words[2:] == ["translate", str(tmp_path), "It's me."]


@pytest.mark.parametrize(
    "text", ["It's me.", "It's $5", 'Say "it\'s"', "it's `a`", "it's a\\b", "it's here!", "No."]
)
def test_a_shell_reads_what_is_quoted(text):
    from seq2seq.run.summary import quoted

    shown = quoted(text)
    assert shlex.split(shown) == [text]
    assert (
        subprocess.run(
            ["bash", "-c", f"printf %s {shown}"], capture_output=True, text=True, check=True
        ).stdout
        == text
    )
    assert (shown[0] == '"') == (text == "It's me.")


def test_exchanged_letters_are_put_right():
    drawn, keys = random.Random(0), APPLICATION.known_keys
    for key in drawn.sample([each for each in keys if len(each.rpartition(".")[2]) > 1], 60):
        place = drawn.randrange(len(key) - 1)
        swapped = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
        if "." not in key[place : place + 2] and swapped not in keys:
            assert nearest_key(swapped, keys) == key


@pytest.mark.parametrize(
    ("key", "meant"),
    [("decoder.hidden_size", "model.decoder.hidden_size"), ("decoder.dropout", "model.decoder.dropout"),
     ("decoder.hiden_size", "model.decoder.hidden_size"), ("attention.hidden_size", "model.decoder.attention.score.hidden_size"),
     ("hidden_size", "model.decoder.hidden_size or model.encoder.hidden_size")],
)  # fmt: skip
def test_a_key_without_its_beginning_is_that_of_the_node_it_names(key, meant):
    assert nearest_key(key, APPLICATION.known_keys) == meant


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("rl", ["eps", "lr"], "lr"), ("GRU", ["lstm", "gru"], "gru"), ("dto", ["dot", "scaled_dot"], "dot"),
        ("gpus", ["cpu", "gpu"], "gpu"), ("onxx", ["onnx", "page"], "onnx"), ("x", ["lr", "y"], None), ("", ["ab"], None),
        ("pgu", ["cpu", "gpu"], "gpu"), ("additif", ["dot", "additive"], "additive"), ("abdc", ["abcde", "abcd"], "abcd"),
    ],
)  # fmt: skip
def test_the_name_that_was_meant(name, known, meant):
    assert nearest(name, known) == meant


def test_what_is_exported_is_checked_before_an_option_is_missed(tmp_path, capsys):
    for words, key in ((["onxx", "x"], "did you mean onnx?"),
                       (["onnx", "help-en-de"], "-o"), (["onnx", "help-en-de", "-o", "x", "--presicion", "x"], "--precision"),
                       (["onnx"], "MODEL")):  # fmt: skip
        with pytest.raises(SystemExit) as end:
            main(["export", *words])
        assert end.value.code == 2
        assert key in capsys.readouterr().err
