"""The answers to the book's exercises: each block of the page gives what it says, and each command trains."""

import doctest
import re
import shlex

import pytest

import seq2seq
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("short_corpora")

PAGE = ROOT / "docs/tutorials/exercises.md"
LINES = re.findall(r"^python train\.py (?!-m)(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_block_gives_what_the_page_says():
    assert doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8").failed == 0


@pytest.mark.parametrize("line", LINES)
def test_every_command_trains(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fra.txt").write_text("".join(f"Go {n}.\tVa {n} !\tx\n" for n in range(40)), encoding="utf-8")
    pairs = ["data.train_pairs=24", "data.split.validation=4"] if "textbook" in line else []
    few = (
        "data.max_examples=24",
        "data.batch_size=12",
        "trainer.max_epochs=1",
        "trainer.check_val_every_n_epoch=1",
    )
    run = seq2seq.train(*shlex.split(line), *pairs, *few, "debug=fast", "threads=1")
    assert run.metrics["val"]["greedy"]["num_sentences"] > 0
