import re
import sys
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir

from seq2seq.command_line.arguments import check_arguments
from seq2seq.command_line.config_errors import (
    CONFIG_ERRORS,
    as_config,
    explain,
)
from seq2seq.command_line.names import nearest
from seq2seq.commands import train
from seq2seq.config import Averaging, known_keys, plain_values, register_schema
from seq2seq.errors import InputError
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.run_folder import run_folder

CONF = Path(__file__).parents[2] / "conf"
CHOICES = sorted(
    f"{path.parent.name}={path.stem}"
    for path in CONF.glob("*/*.yaml")
    if path.stem not in {"parallel", "hf"}
)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_file_of_every_group_is_a_valid_choice(configured, choice):
    group, _, name = choice.partition("=")
    config = configured(choice)
    if group in {"data", "attention"}:
        assert name.replace("_", "") in repr(config).lower().replace("_", "")


def test_every_value_in_the_files_has_its_meaning_beside_it():
    for path in CONF.rglob("*.yaml"):
        values = path.read_text("utf-8").split("defaults:")[-1]
        values, _, _ = values.partition("\nclaim:\n")  # sentences, and settings by key
        for line in values.splitlines():
            key = re.fullmatch(r"\s*(\w+): \S.*", line.replace("${", ""))
            if key and path.parent.name not in {"experiment", "debug", "conf"}:
                assert "#" in line, f"{path.name}: {line}"


def test_a_number_that_no_float_holds_is_refused():
    with pytest.raises(InputError, match="holds a number too large"):
        check_arguments(["seed=1", "optim.final_fraction=1" + "0" * 400], CONF)


def test_a_misspelt_key_inside_a_file_is_refused_with_the_file(tmp_path):
    for path in CONF.rglob("*.yaml"):
        copy = tmp_path / path.relative_to(CONF)
        copy.parent.mkdir(parents=True, exist_ok=True)
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


def test_a_recipe_sets_only_model_optim_trainer_and_tokenizer():
    for path in (CONF / "recipe").glob("*.yaml"):
        recipe = yaml.safe_load(path.read_text("utf-8"))
        recipe.pop("defaults", None)
        assert recipe.pop("data", {}).keys() <= {"tokenizer"}
        assert recipe.keys() <= {"model", "optim", "trainer"}


@pytest.mark.parametrize("debug", ["fast", "overfit"])
@pytest.mark.parametrize(
    "chosen",
    [choice for choice in CHOICES if choice.startswith(("experiment=", "recipe="))],
)
def test_every_recipe_and_experiment_can_be_debugged(chosen, debug, configured):
    config = configured(chosen, f"debug={debug}")
    assert config.name == f"debug_{debug}"
    if debug == "overfit":  # which nothing is to hinder
        dropouts = {k: v for k, v in plain_values(config.model).items() if "dropout" in k}
        assert dropouts
        assert not any(dropouts.values())
        assert (config.optim.warmup_steps, config.optim.label_smoothing) == (0, 0.0)
        assert config.optim.averaging is Averaging.none


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
    corpus = build_corpus(parallel(configured, tmp_path, "data.validation.fraction=0.25"))
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
        build_corpus(parallel(configured, tmp_path, *overrides))


def test_corpora_that_cannot_be_are_refused(configured):
    with pytest.raises(InputError, match="translates en to fr only"):
        build_corpus(configured("data.source_language=de").data)
    with pytest.raises(InputError, match="are both en"):
        build_corpus(configured("data=multi30k", "data.target_language=en").data)
    absent = ["data.root=absent", "data.download=false"]
    with pytest.raises(InputError, match=r"data\.root=absent has no train\.en\.gz"):
        build_corpus(configured("data=multi30k", *absent).data)


def test_no_argument_at_all_is_nothing_to_refuse(monkeypatch):
    check_arguments([], CONF)
    seen = []
    monkeypatch.setattr(sys, "argv", ["train.py"])
    monkeypatch.setattr(train, "train", lambda composed: seen.append(composed.seed) or 0)
    assert train.main() == 0
    assert seen == [1]
