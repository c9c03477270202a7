"""The script that trains by data diversification, typed as its users type it."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

LINES = {"en": "now I see a man", "de": "nun sehe ich den Mann"}
SMALL = ["data.tokenizer.vocab_size=300", "data.batch_size=32", "optimizer.lr=0.02", "scheduler.warmup_steps=2",
         "model.embedding_size=32", "model.encoder.hidden_size=32", "model.decoder.hidden_size=32", "threads=1",
         "model.decoder.readout_size=32", "model.encoder.dropout=0", "model.encoder.embedding_dropout=0",
         "trainer.max_epochs=20", "trainer.check_val_every_n_epoch=20"]  # fmt: skip


def diversify(folder, *arguments):
    command = [
        sys.executable,
        ROOT / "scripts/diversify.py",
        *arguments,
        "--root",
        folder,
        "--runs",
        folder / "runs",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def corpus(tmp_path):
    tmp_path = tmp_path / "a folder, it's mine"
    tmp_path.mkdir()
    for code, line in LINES.items():
        for split in ("train", "val", "test_2016_flickr"):
            (tmp_path / f"{split}.{code}").write_text(f"{line}\n" * 64)
    return tmp_path


@pytest.mark.long
def test_students_learn_from_the_pairs_and_from_what_teachers_translate_both_ways(corpus):
    done = diversify(corpus, "en", "de", "--teachers", "2", "--jobs", "2", *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = corpus / "runs/diversified_de_en"
    for code, line in LINES.items():
        files = {path.stem: path.read_text() for path in (runs / "pairs").glob(f"*.{code}")}
        assert files == dict.fromkeys(files, f"{line}\n" * 64)  # capitals, too, which are learned
        assert set(files) == {"original", "teacher-1-de", "teacher-1-en", "teacher-2-de", "teacher-2-en"}
    assert json.loads((runs / "student-en-de-1/metrics.json").read_text())["test"]["beam"][
        "bleu"
    ] == pytest.approx(100)

    (corpus / "more.en").write_text(f"{LINES['en']}\n" * 8)
    options = ["--teachers", "2", "--text", corpus / "more.en", "--name", "further"]
    other = diversify(corpus, "de", "en", *options, *SMALL)
    assert other.returncode == 0, other.stdout + other.stderr
    assert other.stdout.count("seq2seq translate") == 1  # the rest is there
    assert (runs / "pairs-further/further-1.de").read_text() == f"{LINES['de']}\n" * 8
    assert json.loads((runs / "student-de-en-further-1/metrics.json").read_text())["test"]["beam"][
        "bleu"
    ] == pytest.approx(100)

    (corpus / "more.en").write_text("a man\n")
    changed = diversify(corpus, "de", "en", *options, *SMALL)
    assert changed.returncode == 2
    assert "further-1.en is not" in changed.stderr

    further = diversify(corpus, "en", "de", "--teachers", "3", *SMALL)
    assert further.returncode == 2
    assert "have learned without teacher-3-" in further.stderr

    fewer = diversify(corpus, "en", "de", "--teachers", "1", *SMALL)
    assert fewer.returncode == 2
    assert "of other teachers or texts" in fewer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["en", "fr"], "train.fr"),
        (["en", "de", "--students", "5"], "0 to 4"),
        (["en", "en"], "two languages"),
        (["en", "de", "--text", "nowhere.de", "threads=1"], "nowhere.de: there is no such file"),
        (["en", "de", "--text", "train.de", "threads=1"], "give KEY=VALUE before --text"),
        (["en", "de", "overwrite=true"], "translations of the teachers before"),
    ],
)
def test_a_mistake_is_one_line(corpus, arguments, said, program):
    places = "--root", corpus, "--runs", corpus / "runs"
    (line,) = program(
        *arguments, *places, script="scripts/diversify.py", cwd=corpus, check=2
    ).text.splitlines()
    assert said in line
    assert not (corpus / "runs").exists()
