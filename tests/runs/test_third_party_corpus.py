"""A corpus of another package: its keys are checked like ours, and what it taught needs it not."""

import re
import sys
from dataclasses import dataclass

import pytest

from seq2seq.command_line.composing import composed
from seq2seq.config import CORPORA, Corpus, CorpusOptions
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.own_files import CONF
from seq2seq.runs.making.corpus import build_corpus, has_test_split
from seq2seq.runs.rerun import rerun
from seq2seq.runs.run import run
from seq2seq.runs.saved_config import load_config
from tests.tiny import SMALL_MODEL


@dataclass(kw_only=True, slots=True)
class Other(CorpusOptions):
    """Options of a corpus that a notebook adds."""


YAML = "defaults:\n  - /schema/data@_here_: bad\n  - shared/text@_here_\n  - _self_\n" + (
    "source_language: en\ntarget_language: fr\n"
)


@pytest.fixture
def verses(install_example, tmp_path):
    """The example of docs/extending.md, installed; returns overrides."""
    for name, words, numbers in (("source", "a b c", range(40)), ("target", "x y z", range(2, 42))):
        lines = [f"1:{number}\t{words} {number}" for number in numbers]
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
    install_example("verses")
    files = [f"data.{name}={tmp_path / name}" for name in ("source", "target")]
    return ["data=verses", *files, "data.held_out=4"]


def test_a_corpus_comes_with_its_keys_its_values_and_its_reader(verses):
    config, own = composed(CONF, verses)
    assert own == verses
    assert (config.data.corpus, config.data.held_out) == ("verses", 4)
    corpus = build_corpus(config.data)
    assert [len(split) for split in (corpus.train, corpus.validation, corpus.test)] == [30, 4, 4]
    assert (corpus.train[0].source, corpus.train[0].target) == ("a b c 2", "x y z 2")
    assert has_test_split(config.data)


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("data.heldout=4", "data.heldout: there is no such key, did you mean data.held_out?"),
        ("data.held_out=0", "data.held_out=0 is out of range: verses for validation, .*from 1"),
        ("data.held_out=x", "data.held_out=x is wrong: data.held_out takes a whole number, 1 or"),
        ("data.root=x", "data.root: the chosen data has no such key; data=multi30k has it"),
        ("data.corpus=verse", "data.corpus=verse is wrong: .* did you mean verses"),
        ("data=verse", "data=verse: no such choice, did you mean verses"),
    ],
)
def test_wrong_options_are_refused_as_ours_are(verses, override, line):
    with pytest.raises(InputError, match=line):
        composed(CONF, [*verses, override] if "data=" not in override else [override])


def test_a_file_that_is_not_there_is_refused_in_the_words_of_its_reader(verses):
    with pytest.raises(InputError, match=r"^absent does not exist"):
        build_corpus(composed(CONF, [*verses, "data.source=absent"])[0].data)


def test_the_keys_of_a_corpus_are_no_others(verses, monkeypatch):
    monkeypatch.setattr(CORPORA, "_added", {})
    config, _ = composed(CONF, verses)
    assert CORPORA.add("other")(Corpus(Other, len)).options is Other
    config.data.corpus = "other"
    with pytest.raises(InputError, match="another corpus's: choose data=other"):
        build_corpus(config.data)


def test_without_its_package_there_is_no_such_choice():
    with pytest.raises(InputError, match="data=verses: no such choice"):
        composed(CONF, ["data=verses"])


def test_a_run_is_repeated_with_the_package_and_translates_without(verses, tmp_path, monkeypatch):
    config, _ = composed(
        CONF, [*verses, "recipe=small", *SMALL_MODEL, "trainer.max_epochs=1", "decoding.beam=1"]
    )
    run(config, tmp_path / "run")
    assert load_config(tmp_path / "run").data == config.data
    assert rerun(tmp_path / "run", tmp_path / "again") == []
    monkeypatch.setattr(sys, "path", [each for each in sys.path if "seq2seq-verses" not in each])
    assert Translator.load(tmp_path / "run").translate(["a b c 2"])
    with pytest.raises(InputError, match=r"config\.yaml is no .*: unknown corpus 'verses'"):
        load_config(tmp_path / "run")


@pytest.fixture
def broken(install, tmp_path):
    """Code, and a file of its folder -> what data=bad is with a package of them."""

    def install_broken(code, name="bad", yaml=YAML):
        folder = tmp_path / "project" / "bad_corpus"
        (folder / "conf" / "data").mkdir(parents=True)
        (folder / "conf" / "data" / f"{name}.yaml").write_text(yaml)
        (folder / "__init__.py").write_text(code)
        install(
            '[project]\nname = "bad-corpus"\nversion = "1.0"\n'
            '[project.entry-points."seq2seq.corpora"]\nbad = "bad_corpus:bad"\n'
            '[project.entry-points."seq2seq.conf"]\nbad = "bad_corpus"\n'
            '[tool.setuptools]\npackages = ["bad_corpus"]',
            folder.parent,
        )
        return composed(CONF, [f"data={name}"])[0].data

    return install_broken


OPTIONS = """
from dataclasses import dataclass
from seq2seq.config import Corpus, CorpusOptions, DataConfig
@dataclass(kw_only=True, slots=True)
class Options(CorpusOptions):
    pass
"""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise OSError('no licence')", "package 'bad-corpus' cannot be imported .*no licence"),
        ("bad = 7", "package 'bad-corpus' is no Corpus: 7"),
        (f"{OPTIONS}bad = Corpus(DataConfig, len)", "'bad-corpus' .*made of no CorpusOptions"),
        (
            f"{OPTIONS}Options.__annotations__['x'] = int\nOptions.x = 3\n"
            "bad = Corpus(dataclass(kw_only=True)(type('O', (CorpusOptions,), "
            "{'__annotations__': {'x': int}, 'x': 3})), len)",
            r"'bad-corpus' .*the option x has no setting",
        ),
        (f"{OPTIONS}bad = Corpus(Options, lambda _: 1 / 0)", "corpus 'bad' fails: ZeroDivision"),
        (f"{OPTIONS}bad = Corpus(Options, lambda _: [])", r"'bad' fails: .*\[\] is no ParallelCo"),
    ],
)
def test_a_broken_package_is_one_line_that_names_it(broken, code, line, capsys):
    with pytest.raises(InputError, match=line) as refusal:
        build_corpus(broken(code))
    assert "\n" not in str(refusal.value)
    assert capsys.readouterr().err == ""


def test_the_folder_of_a_package_is_under_the_rules_of_ours(broken):
    with pytest.raises(InputError, match=r"oc\.env:HOME.* is refused"):
        broken("", yaml=YAML.replace("en\n", "${oc.env:HOME}\n"))


def test_no_package_replaces_a_file_of_ours(broken):
    assert broken("", "grammar", "source_language: xx").source_language == "en"


def test_a_package_without_its_folder_is_left_out_in_one_line(install_part, capsys):
    install_part("bad-conf", "seq2seq.conf", "bad = bad_conf", "raise OSError('not imported')")
    composed(CONF, [])
    (line,) = set(capsys.readouterr().err.splitlines())
    assert re.search("left out: seq2seq.conf of the package 'bad-conf': .* has no folder", line)


def test_a_built_in_corpus_cannot_be_taken():
    with pytest.raises(TypeError, match="corpus 'grammar' cannot be called that"):
        CORPORA.add("grammar")(Corpus)
