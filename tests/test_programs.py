"""The programs as a user starts them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import SMALL_CORPUS, SMALL_MODEL

ROOT = Path(__file__).parents[1]

TINY = [
    "data.train_pairs=300",
    *SMALL_CORPUS,
    *SMALL_MODEL,
    "trainer.max_epochs=1",
    "tensorboard.heatmaps=1",
]


def program(name, *arguments, stdin=b"", cwd=None):
    return subprocess.run(
        [sys.executable, str(ROOT / name), *arguments],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    done = program("train.py", *TINY, f"runs_dir={folder}", "name=tiny")
    assert done.returncode == 0, done.stderr.decode()
    return folder / "baseline" / "tiny", done.stdout.decode()


def test_training_says_where_the_results_are_and_what_to_do_next(trained):
    run_dir, printed = trained
    lines = printed.splitlines()
    assert f"results     {run_dir}" in lines
    assert any(line.startswith("test        BLEU ") for line in lines)
    assert any(line.startswith("look        tensorboard --logdir ") for line in lines)
    assert f"translate   python scripts/translate.py {run_dir} < sentences.txt" in lines
    assert "\x1b" not in printed, "escape codes where there is no terminal"


def test_the_same_command_again_prints_the_scores_and_does_nothing(trained):
    run_dir, _ = trained
    again = program("train.py", *TINY, f"runs_dir={run_dir.parents[1]}", "name=tiny")
    assert again.returncode == 0
    assert "is finished" in again.stdout.decode()
    assert "epoch" not in again.stdout.decode()


def test_translate_gives_one_line_for_each_line_in_order(trained):
    run_dir, _ = trained
    lines = ["The cat sleeps.", "", "I see it.", "\u2028 odd", "unknown wörds", "The cat sleeps."]
    done = program("scripts/translate.py", str(run_dir), stdin="\n".join(lines).encode())
    assert done.returncode == 0, done.stderr.decode()
    out = done.stdout.decode().removesuffix("\n").split("\n")
    assert len(out) == len(lines)
    assert out[0] == out[5]
    assert out[1] == ""


@pytest.mark.parametrize(
    "stdin", [b"", b"\xff\xfe\n", b"a\r\nb\r\n"], ids=["none", "bytes", "crlf"]
)
def test_translate_takes_any_input(trained, stdin):
    done = program("scripts/translate.py", str(trained[0] / "model"), stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == stdin.count(b"\n")
    assert b"\r" not in done.stdout


def test_a_closed_pipe_ends_translation_quietly(trained):
    command = f"{sys.executable} {ROOT}/scripts/translate.py {trained[0]} | head -n 1"
    done = subprocess.run(
        command,
        shell=True,
        input=b"I see it.\n" * 5000,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_evaluate_agrees_with_the_score_of_training(trained, tmp_path, grammar):
    run_dir, _ = trained
    pairs = grammar.sample(20, 1, "test")
    source, reference = tmp_path / "test.en", tmp_path / "test.fr"
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
    reference.write_text("".join(f"{pair.target}\n" for pair in pairs), "utf-8")
    files = ["--source", str(source), "--reference", str(reference)]
    scores = json.loads(program("scripts/evaluate.py", str(run_dir), *files, "--json").stdout)
    expected = json.loads((run_dir / "metrics.json").read_text())["test"]
    assert scores == {name: expected[name] for name in scores}
    table = program("scripts/evaluate.py", str(run_dir), *files).stdout.decode()
    assert f"{expected['bleu']:.2f}" in table
    assert "tok:13a" in table


WRONG = {
    "no key": (["=3"], "'=3' has no key: write key=value"),
    "unwritable folder": (["runs_dir=/proc/here"], "/proc/here/baseline/default cannot be made"),
    "misspelt key": (["optim.learning_rat=1"], "did you mean optim.learning_rate?"),
    "out of range": (["model.dropout=2"], "model.dropout=2.0 is out of range"),
    "missing files": (["data=multi30k", "data.root=absent"], "absent/train.en.gz does not exist"),
    "missing value": (["data=parallel"], "data.source_language is needed"),
    "unknown score": (
        ["attention.score=adition", "data.train_pairs=20"],
        "did you mean 'additive'?",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_status_two(case, tmp_path):
    overrides, message = WRONG[case]
    done = program("train.py", *overrides, cwd=tmp_path)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert message in said


@pytest.mark.parametrize("script", ["translate", "evaluate"])
def test_scripts_refuse_a_folder_without_a_model_in_one_line(script, tmp_path):
    file = tmp_path / "text"
    file.write_text("a\n")
    files = ["--source", str(file), "--reference", str(file)] if script == "evaluate" else []
    done = program(f"scripts/{script}.py", str(tmp_path), *files)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"error: {tmp_path} holds no model.json: give a run folder or its model/ folder\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_ends_training_with_a_checkpoint_and_the_command_continues(tmp_path, number):
    overrides = [*TINY, f"runs_dir={tmp_path}", "name=stopped", "trainer.max_epochs=12"]
    command = [sys.executable, str(ROOT / "train.py"), *overrides]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if line.startswith("epoch   2/"):
                process.send_signal(number)
                break
        process.stdout.read()
        assert process.wait(timeout=60) == 128 + number
        assert f"stopped by signal {int(number)}" in process.stderr.read()
    last = tmp_path / "baseline" / "stopped" / "checkpoints" / "last.ckpt"
    assert last.is_file()
    continued = program("train.py", *overrides)
    assert continued.returncode == 0, continued.stderr.decode()
    assert f"continuing from {last}" in continued.stdout.decode()


@pytest.mark.parametrize(
    "name", ["train.py", "scripts/translate.py", "scripts/evaluate.py", "scripts/textbook.py"]
)
def test_help_loads_nothing_heavy(name):
    code = (
        "import runpy, sys; sys.argv = [sys.argv[1], '--help']\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'lightning', 'torchtext', 'tensorboard'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "python" in done.stdout


def test_multi30k_trains_and_translates(real_data, tmp_path):
    overrides = [
        "data=multi30k",
        f"data.root={real_data}/multi30k",
        "data.limit=300",
        "data.tokenizer.max_size=700",
        *[override for override in TINY if not override.startswith("data.")],
        f"runs_dir={tmp_path}",
        "name=multi30k",
    ]
    done = program("train.py", *overrides)
    assert done.returncode == 0, done.stderr.decode()
    assert "test        BLEU" in done.stdout.decode()
    assert "(300 sentences" in done.stdout.decode()
    lines = b"A man sleeps.\nTwo dogs play.\n"
    out = program("scripts/translate.py", str(tmp_path / "baseline" / "multi30k"), stdin=lines)
    assert out.stdout.count(b"\n") == 2


def test_the_textbook_experiment_translates_the_textbooks_sentences(real_data, tmp_path):
    file = f"data.file={real_data}/tatoeba/fra.txt"
    done = program("train.py", "experiment=textbook", file, f"runs_dir={tmp_path}", "device=cpu")
    assert done.returncode == 0, done.stderr.decode()
    picture = tmp_path / "attention.png"
    run_dir = tmp_path / "textbook" / "device=cpu"
    said = program("scripts/textbook.py", str(run_dir), "--output", str(picture)).stdout.decode()
    scores = [float(line.split("BLEU ")[1].split()[0]) for line in said.splitlines()[:4]]
    assert sum(score == 1 for score in scores) >= 3, said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_textbook_script_names_unknown_words(trained, tmp_path):
    picture = str(tmp_path / "attention.png")
    said = program("scripts/textbook.py", str(trained[0]), "--output", picture).stdout.decode()
    assert "unknown: i, lost" in said


def test_make_lists_its_targets():
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    for target in ("install", "train", "test", "check", "tensorboard", "help"):
        assert f"\n{target} " in f"\n{done.stdout}"


def test_no_file_holds_an_address_of_a_package_index():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in files:
        text = (ROOT / name).read_text("utf-8", errors="ignore")
        for word in ("index" + "-url", "pypi" + ".org", "find" + "-links"):
            assert word not in text, name
