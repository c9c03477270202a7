import re
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir

from seq2seq.application.build.corpus import build_corpus
from seq2seq.application.config_errors import (
    CONFIG_ERRORS,
    as_config,
    check_overrides,
    explain,
    nearest,
)
from seq2seq.application.run_folder import run_folder
from seq2seq.config import known_keys, register_schema
from seq2seq.errors import InputError

CONF = Path(__file__).parents[2] / "conf"
CHOICES = sorted(
    f"{path.parent.name}={path.stem}" for path in CONF.glob("*/*.yaml") if path.stem != "parallel"
)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_file_of_every_group_is_a_valid_choice(configured, choice):
    group, _, name = choice.partition("=")
    config = configured(choice)
    if group in {"data", "attention"}:
        assert name.replace("_", "") in repr(config).lower().replace("_", "")


def test_every_value_in_the_files_has_its_meaning_beside_it():
    for path in CONF.rglob("*.yaml"):
        for line in path.read_text("utf-8").split("defaults:")[-1].splitlines():
            key = re.fullmatch(r"\s*(\w+): \S.*", line.replace("${", ""))
            if key and path.parent.name not in {"experiment", "debug", "conf"}:
                assert "#" in line, f"{path.name}: {line}"


REFUSED = {
    "optim.lr=3": "optim.lr: there is no such key, did you mean optim.learning_rate?",
    "lr=3": "lr: there is no such key, did you mean optim.learning_rate?",
    "+model.dropuot=3": "dropuot: there is no such key, did you mean attention.dropout or model.d",
    "data=multi31k": "data=multi31k: no such choice, did you mean multi30k?",
    "attention=additiv": "attention=additiv: no such choice, did you mean additive?",
    "optim.learning_rate=abc": "optim.learning_rate=abc: Value 'abc' of type 'str'",
    "optim.learning_rate=-1": "optim.learning_rate=-1.0 is out of range",
    "optim.learning_rate=nan": "optim.learning_rate=nan is out of range",
    "optim.learning_rate=inf": "optim.learning_rate=inf is out of range",
    "model.dropout=1": "model.dropout=1.0 is out of range",
    "model.num_layers=0": "model.num_layers=0 is out of range",
    "trainer.max_epochs=99999999999": "is out of range: passes over the training spli",
    "trainer.max_epochs=1.5": "trainer.max_epochs=1.5: Value '1.5'",
    "optim.schedule=linear": "optim.schedule=linear: Invalid value 'linear', expected one of",
    "device.precision=bf16": "expected one of [fp32, bf16-mixed, fp16-mixed]",
    "seed=null": "seed=null: field 'seed' is not Optional",
    "model.dropout=[1": "'model.dropout=[1' cannot be read",
    "data=parallel": "data.source_language is needed",
    "data.train.source=x": "data.train.source: the chosen data has no such key",
    "optim.schedule=plateau": "set optim.warmup_steps=0",
    "recipe=textbook trainer.early_stopping=1": "set trainer.monitor=loss or bleu",
    "trainer.batch_sentences=null": "trainer.batch_sentences and trainer.batch_tokens are both",
}


@pytest.mark.parametrize(("override", "message"), REFUSED.items())
def test_wrong_overrides_are_refused_in_one_line(configured, override, message):
    with pytest.raises((InputError, *CONFIG_ERRORS)) as caught:
        configured(*override.split())
    said = str(caught.value) if isinstance(caught.value, InputError) else explain(caught.value)
    assert message in said
    assert "\n" not in said


def test_a_number_that_no_float_holds_is_refused():
    with pytest.raises(InputError, match="holds a number too large"):
        check_overrides(["seed=1", "optim.final_fraction=1" + "0" * 400])


def test_a_misspelt_key_inside_a_file_is_refused_with_the_file(tmp_path):
    for path in CONF.rglob("*.yaml"):
        copy = tmp_path / path.relative_to(CONF)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text("utf-8"), "utf-8")
    recipe = tmp_path / "recipe" / "small.yaml"
    recipe.write_text(recipe.read_text("utf-8").replace("learning_rate", "learning_rat"), "utf-8")
    register_schema()
    with (
        initialize_config_dir(str(tmp_path), version_base="1.3"),
        pytest.raises(CONFIG_ERRORS) as caught,
    ):
        as_config(compose("config"))
    said = explain(caught.value)
    assert "conf/recipe/small.yaml: learning_rat: there is no such key" in said
    assert "optim.learning_rate" in said


def test_the_nearest_key_is_found_by_spelling_leaf_and_initials():
    assert nearest("lr", known_keys()) == ["optim.learning_rate"]
    assert nearest("hidden_sise", known_keys())[0] == "attention.hidden_size"
    assert nearest("zzz", known_keys()) == []


def test_a_recipe_sets_only_model_optim_and_trainer():
    for path in (CONF / "recipe").glob("*.yaml"):
        assert yaml.safe_load(path.read_text("utf-8")).keys() <= {"model", "optim", "trainer"}


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "default"),
        (["seed=2", "attention=dot"], "attention=dot,seed=2"),
        (["experiment=baseline", "runs_dir=x", "data.root=/a/b"], "default"),
        (["init_from=../../etc/passwd"], "init_from=..-..-etc-passwd"),
    ],
)
def test_the_run_folder_is_named_by_what_changes_the_run(configured, overrides, name):
    assert run_folder(configured(), overrides) == Path("runs/baseline") / name


@pytest.mark.parametrize("name", ["../../up", "/etc", "..", ".hidden", "a/b", "x" * 500])
def test_a_name_cannot_lead_out_of_the_runs_folder(configured, name):
    folder = run_folder(configured(f"name='{name}'"), [])
    assert folder.parent == Path("runs/baseline")
    assert len(folder.name) <= 120
    assert not folder.name.startswith(".")


def parallel(configured, folder, *overrides):
    for name, content in {
        "a.en": "one\ntwo\n \nfour\n",
        "a.fr": "un\ndeux\ntrois\nquatre\n",
    }.items():
        (folder / name).write_text(content)
    files = [f"data.train.source={folder}/a.en", f"data.train.target={folder}/a.fr"]
    languages = ["data.source_language=en", "data.target_language=fr"]
    return configured("data=parallel", *files, *languages, *overrides).data


def test_parallel_files_are_read_and_a_fraction_held_out(configured, tmp_path):
    corpus = build_corpus(parallel(configured, tmp_path, "data.validation.fraction=0.25"), seed=1)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (3, 1, 0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([], "data.validation needs either"),
        (["data.validation.source=x"], "data.validation.target is needed"),
        (["data.validation.fraction=0.5", "data.test.target=x"], "data.test.source is needed"),
    ],
)
def test_files_that_are_missing_are_asked_for_by_key(configured, tmp_path, overrides, message):
    with pytest.raises(InputError, match=re.escape(message)):
        build_corpus(parallel(configured, tmp_path, *overrides), seed=1)


def test_corpora_that_cannot_be_are_refused(configured):
    with pytest.raises(InputError, match="translates en to fr only"):
        build_corpus(configured("data.source_language=de").data, seed=1)
    with pytest.raises(InputError, match="are both en"):
        build_corpus(configured("data=multi30k", "data.target_language=en").data, seed=1)
    with pytest.raises(InputError, match=r"train\.en\.gz does not exist"):
        build_corpus(configured("data=multi30k", "data.root=absent").data, seed=1)
