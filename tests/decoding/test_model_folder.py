import json
import os
import resource
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.storage.digests import file_digests, value_digest

SPECIMEN = Path(__file__).parents[1] / "specimens" / "model_b91c121"


@pytest.fixture
def folder(tmp_path):
    """A model folder as the program of commit b91c121 wrote it."""
    shutil.copytree(SPECIMEN, tmp_path / "model")
    return tmp_path / "model"


def reseal(folder, **spec):
    """Make all digests right again."""
    header = json.loads((folder / "model.json").read_text())
    (folder / "model.json").unlink()
    header["spec"] |= spec
    header |= {"spec_sha256": value_digest(header["spec"]), "sha256": file_digests(folder)}
    (folder / "model.json").write_text(json.dumps(header))


def refused(folder, message):
    with pytest.raises(InputError, match=message) as caught:
        load_model_folder(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_folder_of_an_earlier_version_translates_as_it_did():
    found = Translator.load(SPECIMEN).translate(["a b", "b c d"], beam=2)
    assert [each.text for each in found] == ["Bbbbbbbbbbbbbbbb", "Bbbbbbbbbbbbbbbbbb"]
    assert [each.score for each in found] == pytest.approx([-9.597709, -11.624551], abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 20_000}, "spec.num_layers: Expected int <= 64"),
        ({"num_layers": 10**6}, "spec.num_layers"),
        ({"num_layers": 60}, "model.safetensors does not hold this model's weights"),
        ({"target_vocabulary_size": 2 * 10**7}, "target.json has 272 tokens, the model 20,000,000"),
        ({"embedding_size": 10**6}, "weight is .* floats, not .*1000000 floats"),
        ({"decoder_hidden_size": 10**9}, "does not hold this model's weights"),
        ({"decoder_hidden_size": 10**30}, "spec.*: Expected int <= "),
        ({"padding_id": 99}, "spec.padding_id: no vocabulary has 99"),
        ({"padding_id": -1}, "spec.padding_id"),
        ({"dropout": "x"}, "spec.dropout: Expected float, got str"),
        ({"dropout": 1.5}, "spec.dropout"),
        ({"score": "none"}, "none"),
        ({"tying": "some"}, "spec.tying"),
        ({"new": 1}, "spec.new: this program does not know it"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(folder, changes, message):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reseal(folder, **changes)
    refused(folder, message)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (torch.full((272, 3), torch.nan), "decoder.embedding.weight holds NaN or infinity"),
        (torch.full((272, 3), -torch.inf), "decoder.embedding.weight holds NaN or infinity"),
        (torch.zeros(272, 4), "decoder.embedding.weight is 272x4 floats, not 272x3 floats"),
        (torch.zeros(272, 3, dtype=torch.int32), "whole numbers, not 272x3 floats"),
        (None, "decoder.embedding.weight is absent, not 272x3 floats"),
    ],
)
def test_weights_that_are_none_are_refused_by_name(folder, odd, message):
    weights = load_file(folder / "model.safetensors")
    weights |= {"decoder.embedding.weight": odd}
    kept = {name: tensor for name, tensor in weights.items() if tensor is not None}
    save_file(kept, folder / "model.safetensors")
    reseal(folder)
    refused(folder, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("source", {"tokens": ["<unk>", "<pad>", "<bos>", "<eos>"]}, "source.json has 4 tokens"),
        ("source", {"tokens": ["<unk>", "<pad>", "<bos>", "<eos>", 5]}, "tokens.*got int"),
        ("source", {"tokens": ["a" * 10_000]}, "source.json is not a vocabulary .{1,400}$"),
        ("source", {"tokens": None}, "source.json is not a vocabulary"),
        ("source", {"tokenizer": "none"}, "its tokenizer 'none' is none of this program: install"),
        ("source", {"tokenizer": "moses", "language": "xx"}, "source.json.*xx"),
        ("source", {"lowercase": 1}, "lowercase: Expected bool, got int"),
        ("target", {"casing": {"forms": {"a": 1}, "capital_start": True}}, "casing.forms"),
        ("target", {"version": 9}, "target.json is version 9, this program reads version 1"),
    ],
)
def test_vocabularies_that_do_not_fit_are_refused_by_name(folder, name, change, message):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    reseal(folder)
    refused(folder, message)


def test_half_a_surrogate_pair_in_a_vocabulary_is_refused(folder):
    path = folder / "source.json"
    path.write_text(path.read_text().replace('"g"', r'"\ud800"'))
    reseal(folder)
    refused(folder, "surrogate")


@pytest.mark.parametrize("name", ["model.json", "source.json", "target.model", "model.safetensors"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(folder, name, listed):
    header = json.loads((folder / "model.json").read_text())
    (folder / name).unlink()
    os.mkfifo(folder / name)
    if name != "model.json":
        digests = header["sha256"] if listed else file_digests(folder)
        digests.pop("model.json", None)
        (folder / "model.json").write_text(json.dumps(header | {"sha256": digests}))
    refused(folder, "no regular file|cannot be read|no model.json|not a readable")
