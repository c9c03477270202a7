import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.command_line.documentation import configuration_page
from seq2seq.command_line.help import OFTEN_SET, choices_of, default_choices, help_text
from seq2seq.commands import train
from seq2seq.config import known_keys

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"


@pytest.fixture(scope="module")
def page():
    return configuration_page(CONF)


def test_the_page_of_the_configuration_is_current(page):
    kept = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert kept == page, "run: python scripts/document_configuration.py"


def test_the_page_has_every_key_and_every_choice(page):
    for key in known_keys():
        assert f"| `{key}` |" in page
    for path in CONF.glob("*/*.yaml"):
        assert f"| `{path.parent.name}={path.stem}`" in page


def test_the_help_has_every_group_its_default_and_the_keys_that_are_often_set():
    text = help_text(CONF)
    groups = {path.name for path in CONF.iterdir() if path.is_dir()}
    assert default_choices(CONF).keys() == groups
    for group in groups:
        line = re.search(rf"^  {group} .*(\n {{14}}.*)*", text, re.MULTILINE)[0]
        listed = line.split()[1:]
        assert [choice.removesuffix("*") for choice in listed] == choices_of(CONF, group)
        starred = [choice.removesuffix("*") for choice in listed if choice.endswith("*")]
        assert starred == [choice for choice in [default_choices(CONF)[group]] if choice]
    for key in OFTEN_SET:
        assert f"\n  {key} " in text
    assert "schema" not in text
    assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_printed_and_nothing_is_run(option, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["train.py", "data=nonsense", option])
    assert train.main() == 0
    assert capsys.readouterr().out == help_text(CONF)


def completed(line):
    """What bash offers for a command line, by the documented way to switch completion on."""
    python = Path(sys.executable)
    script = f"""
        cd {shlex.quote(str(ROOT))}
        eval "$(python train.py -sc install=bash)"
        COMP_LINE={shlex.quote(line)}
        COMP_POINT={len(line)} COMP_CWORD=2
        COMP_WORDS=($COMP_LINE)
        hydra_bash_completion
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python train.py data=m", {"data=multi30k"}),
        ("python train.py optim.warm", {"optim.warmup_steps="}),
    ],
)
def test_bash_completes_choices_and_keys(line, expected):
    assert expected <= set(completed(line))
