"""Stored arguments that a class no longer has are left out, with a line; those of a decoder's base are known."""

import json
import shutil
from copy import deepcopy

import lightning
import pytest
import torch

from hydra_checked import arguments_of
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Few
from seq2seq.data import Tokenizer
from seq2seq.models import BahdanauDecoder
from seq2seq.models.decoder import RecurrentDecoder
from seq2seq.models.folder import load_model_folder
from seq2seq.run.earlier import earlier_start
from seq2seq.settings.config import check
from seq2seq.training import TranslationModule
from tests.conftest import ROOT
from tests.small import DECODERS

SHIPPED = ROOT / "data/models/grammar-en-fr"


@pytest.mark.parametrize(
    "place", [["model"], ["model", "decoder"], ["model", "decoder", "attention", "score"], ["limits"]]
)
def test_a_model_folder_with_an_unknown_argument_loads_with_a_line(place, tmp_path, capsys):
    folder = shutil.copytree(SHIPPED, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    node = config
    for key in place:
        node = node[key]
    node[f"{place[-1]}_velocity"] = True
    (folder / "config.json").write_text(json.dumps(config))
    saved = load_model_folder(folder)
    lines = [line for line in capsys.readouterr().err.splitlines() if "velocity" in line]
    assert len(lines) == 1
    expected = load_model_folder(SHIPPED).model.state_dict()
    assert saved.model.state_dict().keys() == expected.keys()


def test_tokenizer_files_with_an_unknown_argument_load_with_a_line(tmp_path, capsys):
    folder = shutil.copytree(SHIPPED, tmp_path / "model")
    description = json.loads((folder / "source.json").read_text())
    description["arguments"]["velocity"] = 3
    (folder / "source.json").write_text(json.dumps(description))
    loaded = Tokenizer.load(folder, "source")
    assert loaded.encode("I see the dog.") == Tokenizer.load(SHIPPED, "source").encode("I see the dog.")
    assert capsys.readouterr().err.count("velocity") == 1


@pytest.mark.parametrize("place", [[], ["model"], ["model", "decoder"]])
def test_a_checkpoint_with_an_unknown_argument_loads_with_a_line(place, tmp_path, capsys):
    module = TranslationModule(load_model_folder(SHIPPED).model, label_smoothing=0.1)
    arguments = node = deepcopy(dict(module.hparams))
    for key in place:
        node = node[key]
    node["_".join([*place, "velocity"])] = True
    checkpoint = {"state_dict": module.state_dict(), "hyper_parameters": arguments}
    torch.save(checkpoint | {"pytorch-lightning_version": lightning.__version__}, tmp_path / "a.ckpt")
    loaded = TranslationModule.load_from_checkpoint(tmp_path / "a.ckpt", weights_only=True)
    assert loaded.label_smoothing == 0.1
    assert capsys.readouterr().err.count("velocity") == 1


def test_a_run_with_a_key_that_its_class_no_longer_has_goes_on(tmp_path, capsys):
    node = "module:\n  _target_: seq2seq.training.TranslationModule\n  label_smoothing: 0.1\n"
    (tmp_path / "config.yaml").write_text(f"{node}  velocity: true\n")
    new = {"module._target_": "seq2seq.training.TranslationModule", "module.label_smoothing": 0.1}
    earlier_start(tmp_path).require_same(new)
    assert "module.velocity" in capsys.readouterr().err
    (tmp_path / "config.yaml").write_text(f"{node}  word_dropout: 0.2\n")  # an argument that there is
    with pytest.raises(InputError, match=r"module\.word_dropout"):
        earlier_start(tmp_path).require_same(new)


@pytest.mark.parametrize("name", DECODERS)
def test_the_arguments_of_a_decoder_are_all_known(name):
    arguments, takes_any = arguments_of(DECODERS[name])
    assert not takes_any
    assert arguments["num_layers"] == Few
    assert {"dropout", "embedding_dropout", "tie_output", "attention"} <= arguments.keys()
    if issubclass(DECODERS[name], RecurrentDecoder):
        assert {"hidden_size", "readout_size", "cell", "initial_state"} <= arguments.keys()


def test_a_class_of_the_users_that_passes_its_options_on_takes_those_of_its_bases():
    class Passing(BahdanauDecoder):
        def __init__(self, embedding, memory_size, summary_size, **options):
            super().__init__(embedding, memory_size, summary_size, **options)

    class Further(Passing):
        def __init__(self, *inputs, depth: int = 1, **options):
            super().__init__(*inputs, **options)

    known, _ = arguments_of(BahdanauDecoder)
    for taking in (Passing, Further):
        arguments, takes_any = arguments_of(taking)
        assert not takes_any
        assert known.keys() <= arguments.keys()
    assert arguments["depth"] is int
    assert "inputs" not in arguments


def test_a_wrong_argument_of_a_base_class_is_named_with_the_nearest():
    from omegaconf import OmegaConf

    target = f"{BahdanauDecoder.__module__}.{BahdanauDecoder.__qualname__}"
    for key, value, expected in (("num_layer", 2, "num_layers"), ("num_layers", "two", "a whole number")):
        node = OmegaConf.create({"decoder": {"_target_": target, key: value}})
        with pytest.raises(InputError, match=rf"decoder\.{key}.*{expected}"):
            check(node)
