"""What text a model knows, and which translations are guesses."""

import json
from dataclasses import replace

import pytest

import seq2seq
from seq2seq.cli.api import Run
from seq2seq.common.errors import InputError
from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.translator import Translator
from seq2seq.export.translating_page import export_page
from seq2seq.models.folder import Knowledge, load_model_folder, save_model_folder
from tests.decoding.test_translator import TEXT, exported_model
from tests.export.translating import data_of

OTHER = "unknown words all over"


@pytest.fixture
def folder(tmp_path):
    """A model folder whose bound is between what the model says of two texts."""
    exported = exported_model(tmp_path)
    found = Translator(exported).translate([TEXT[0], OTHER], beam_size=5)
    bound = sum(each.confidence for each in found) / 2
    knows = Knowledge(("One of its own.", "And another."), bound)
    save_model_folder(tmp_path / "model", replace(exported, knows=knows))
    return tmp_path / "model"


def guesses_of(folder):
    return [each.is_guess for each in Run(folder).translate([TEXT[0], OTHER])]


def test_the_bound_has_nineteen_of_twenty_sentences_and_the_surest_are_examples():
    sources = [f"This is the sentence number {number}." for number in range(100)]
    knows = Knowledge.learned(sources, [-abs(number - 50) / 100 for number in range(100)])
    assert sum(-abs(number - 50) / 100 < knows.least for number in range(100)) == 5
    assert knows.examples == (sources[50], sources[49], sources[51])


def test_a_folder_keeps_what_the_model_knows_and_an_older_one_has_nothing(folder):
    assert load_model_folder(folder).knows == Run(folder).knows
    assert sorted(guesses_of(folder)) == [False, True]
    (sampled,) = Run(folder).translate([OTHER], sample=True)
    assert sampled.is_guess is None
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in config.items() if key != "knows"}))
    assert load_model_folder(folder).knows is None
    assert guesses_of(folder) == [None, None]
    assert "guess" not in Run(folder).translate(TEXT)[0].as_dict()


@pytest.mark.parametrize(
    "wrong", [{"examples": ["\x1b[31m"], "least": -1}, {"examples": [], "least": None}, {"examples": 3}, []]
)
def test_what_is_no_knowledge_is_refused(folder, wrong):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"knows": wrong}))
    with pytest.raises(InputError, match=r"config\.json"):
        load_model_folder(folder)


def test_guesses_are_named_by_the_command_and_the_page(folder, tmp_path, program):
    texts, marks = [TEXT[0], OTHER], guesses_of(folder)
    done = program(folder, *texts, "--json", command="translate", cwd=tmp_path, check=0)
    rows = [json.loads(line) for line in done.text.splitlines() if line.startswith("{")]
    assert [row["guess"] for row in rows] == marks
    assert "WARNING: 1 of 2 lines is a guess (2):" in done.text
    assert "“One of its own.”" in done.text
    sure = texts[marks.index(False)]
    done = program(folder, sure, command="translate", cwd=tmp_path, check=0)
    assert "guess" not in done.text
    assert data_of(export_page(folder, ""))["model"]["knows"]["examples"] == [
        "One of its own.",
        "And another.",
    ]


def test_a_server_marks_guesses(folder):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from seq2seq.export.program import application
    from seq2seq.export.server import Limits

    with TestClient(application(folder, "cpu", Limits(), batch_size=8)) as client:
        found = client.post("/translate", json={"text": [TEXT[0], OTHER]}).json()["translations"]
        assert [each["guess"] for each in found] == guesses_of(folder)
        assert client.get("/info").json()["knows"] == ["One of its own.", "And another."]


def test_a_training_and_its_export_know_their_text(tiny_run, tmp_path):
    knows = seq2seq.load(tiny_run).knows
    own = (tiny_run / "predictions" / "val.source.txt").read_text(encoding="utf-8").splitlines()
    assert len(knows.examples) == 3
    assert {*knows.examples} <= {*own}
    search = search_from_options(beam_size=2, max_ratio=1, length_penalty="average")  # of the run
    confidences = [each.confidence for each in Translator.load(tiny_run).translate(own, search=search)]
    assert 0 < sum(each < knows.least - 1e-4 for each in confidences) <= len(own) / 20
    seq2seq.load(tiny_run).save_pretrained(tmp_path / "exported")
    assert seq2seq.load(tmp_path / "exported").knows == knows
    card = (tmp_path / "exported" / "README.md").read_text(encoding="utf-8")
    assert f"knows:\n- {knows.examples[0]}\n" in card
    assert f"such as {knows.quoted()}" in card
