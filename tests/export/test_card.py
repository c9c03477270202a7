"""The model card."""

import shlex
import subprocess

import pytest

from seq2seq.export.card import quoted, without_paths


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("data.root=/home/me/my corpus/x", "data.root=FOLDER"),
        ("data.root=~/x", "data.root=FOLDER"),
        ("data.root=C:\\Users\\me", "data.root=FOLDER"),
        ("+data.corpora.en-de.train={source: /home/me/a.en, target: b.de}", "+data.corpora.en-de.train={source: FOLDER, target: b.de}"),
        ("x=[/a/b,'/c d/e',3]", "x=[FOLDER,'FOLDER',3]"),
        ("data.file=s3://bucket/a/b.tsv", "data.file=s3://bucket/a/b.tsv"),
        ("name=a/b", "name=a/b"),
        ("optimizer.lr=0.5", "optimizer.lr=0.5"),
    ],
)  # fmt: skip
def test_a_command_tells_no_path_of_a_machine(given, shown):
    assert without_paths(given) == shown
    assert shlex.split(shlex.quote(shown)) == [shown]


@pytest.mark.parametrize(
    "text", ["He's here.", 'Say "no".', "It costs $HOME.", "`date`", "a\\nb", "Stop!", "«Là», dit-il"]
)
def test_the_example_of_a_card_is_a_word_of_the_shell(text):
    written = subprocess.run(["bash", "-c", f"printf %s {quoted(text)}"], capture_output=True, check=True)
    assert written.stdout.decode() == text
