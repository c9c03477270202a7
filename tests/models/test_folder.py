"""Model folders hold what the model computes, or they are refused."""

from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from seq2seq.common.errors import InputError
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.decoding.forced import force_translate
from seq2seq.decoding.translator import Translator
from seq2seq.export.translating_page import page_model
from seq2seq.models import folder as model_folder
from seq2seq.models import int8
from seq2seq.models.bahdanau import BahdanauDecoder
from seq2seq.models.folder import SavedModel, load_model_folder, save_model_folder
from seq2seq.models.proof import prove, steps_of
from tests.small import forget_checksums, model_of, tokenizers_of

PAIR = SentencePair("a b c d e f g", "s t u v w x y")


class CountingDecoder(BahdanauDecoder):
    """A decoder with buffers that are no real numbers, as layers of one's own have."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("table", torch.tensor([[True, False]]))


def saved_model(**changes):
    return SavedModel(model_of(**changes).float(), *tokenizers_of([PAIR]))


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_folder_holds_the_model_within_its_rounding(precision, tmp_path):
    saved = saved_model(tie="all", readout_size=4)
    save_model_folder(tmp_path / "model", saved, precision=precision)
    expected = saved.model.state_dict()
    for name, values in load_model_folder(tmp_path / "model").model.state_dict().items():
        largest = {"fp32": 0, "bf16": expected[name].abs() / 256, "int8": 0.16 * expected[name].abs().max()}
        assert ((values - expected[name]).abs() <= largest[precision]).all(), name


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_buffers_of_whole_numbers_and_truth_values_are_kept_as_they_are(precision, tmp_path):
    saved = saved_model(decoder=CountingDecoder)
    saved.model.decoder.norm.num_batches_tracked += 2**40 + 1  # float32 would round it
    save_model_folder(tmp_path / "model", saved, precision=precision)
    decoder = load_model_folder(tmp_path / "model", trust_custom_code=True).model.decoder
    assert decoder.norm.num_batches_tracked == 2**40 + 1
    assert decoder.table.tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("precision", "value"), [("bf16", 3.4e38), ("fp32", float("inf")), ("int8", float("nan")), ("fp32", 3e38)]
)
def test_weights_that_do_not_fit_are_not_written_and_the_older_folder_stays(precision, value, tmp_path):
    saved = saved_model()
    save_model_folder(tmp_path / "model", saved)
    saved.model.decoder.output.weight.data[4:] = value
    with pytest.raises(InputError):
        save_model_folder(tmp_path / "model", saved, precision=precision)
    assert [each.name for each in tmp_path.iterdir()] == ["model"]
    load_model_folder(tmp_path / "model")


def test_a_folder_with_other_weights_is_not_written(tmp_path, monkeypatch):
    def zeroed(weights, path):
        save_file({name: 0 * tensor for name, tensor in weights.items()}, path)

    monkeypatch.setattr(model_folder, "save_file", zeroed)
    with pytest.raises(InputError, match="differs from the model"):
        save_model_folder(tmp_path / "model", saved_model())
    assert not [*tmp_path.iterdir()]


def test_weights_that_are_rounded_too_far_are_not_written(tmp_path, monkeypatch):
    real = int8.int8_rows

    def doubled(rows):
        numbers, scales = real(rows)
        return numbers, 2 * scales

    monkeypatch.setattr(int8, "int8_rows", doubled)
    with pytest.raises(InputError, match="do not fit into int8"):
        save_model_folder(tmp_path / "model", saved_model(), precision="int8")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("value", [1e-44, 0.0, 1e30])
def test_rows_of_very_small_and_large_numbers_have_scales(value, tmp_path):
    saved = saved_model()
    saved.model.source_embedding.weight.data[5] = value
    save_model_folder(tmp_path / "model", saved, precision="int8")
    row = load_model_folder(tmp_path / "model").model.source_embedding.weight[5]
    torch.testing.assert_close(row, torch.full_like(row, value), rtol=0.01, atol=1e-35)


def change(folder, kind):
    """Make the weights of a folder too large in one of the ways that a file can hold."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    if kind == "after conversion":
        weights = {name: tensor.double() * 1e300 for name, tensor in weights.items()}
    elif kind == "scales":
        name = "decoder.output.weight"
        weights[name] = torch.full_like(weights[name], 100, dtype=torch.int8)
        weights[f"{name}.int8_scale"] = torch.full((len(weights[name]),), 3e38)
    elif kind == "a token that the first step does not read":
        weights["source_embedding.weight"][5] = torch.inf
    elif kind == "products":
        weights = {name: torch.full_like(tensor, 3e38) for name, tensor in weights.items()}
    elif kind == "a token":
        weights["source_embedding.weight"][4:] = 3e38
        weights["encoder.layers.0.weight_ih_l0"] *= 100
    save_file(weights, path)
    forget_checksums(path.parent)


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "source.json", "target.json"])
def test_a_file_of_a_folder_that_has_changed_is_refused(name, tmp_path):
    """One flipped bit of a weight, or a letter of a token, is another model."""
    folder = tmp_path / "model"
    save_model_folder(folder, saved_model())
    flip(folder / name, -5)
    with pytest.raises(InputError, match=f"{name} has changed"):
        load_model_folder(folder)
    flip(folder / name, -5)
    load_model_folder(folder)


def test_a_folder_that_was_changed_on_purpose_and_one_of_an_earlier_version_are_read(tmp_path):
    folder = tmp_path / "model"
    save_model_folder(folder, saved_model())
    weights = {name: 0 * tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    forget_checksums(folder)
    assert not any(map(torch.count_nonzero, load_model_folder(folder).model.parameters()))


def test_checksums_of_files_elsewhere_are_refused(tmp_path):
    save_model_folder(tmp_path / "model", saved_model())
    path = tmp_path / "model" / "config.json"
    path.write_text(path.read_text().replace('"source.json"', '"../source.json"'))
    with pytest.raises(InputError, match="no file of the folder"):
        load_model_folder(tmp_path / "model")


@pytest.mark.parametrize(
    "kind", ["after conversion", "scales", "products", "a token that the first step does not read"]
)
def test_weights_that_are_too_large_are_refused_when_they_are_loaded(kind, tmp_path):
    save_model_folder(tmp_path / "model", saved_model())
    change(tmp_path / "model", kind)
    with pytest.raises(InputError, match="too large"):
        load_model_folder(tmp_path / "model")


def test_numbers_that_overflow_later_end_a_translation_with_one_line(tmp_path):
    save_model_folder(tmp_path / "model", saved_model())
    change(tmp_path / "model", "a token")
    translator = Translator.load(tmp_path / "model")
    for options in ({"beam_size": 1}, {"beam_size": 3}):
        with pytest.raises(InputError, match="NaN"):
            translator.translate(["a b"], **options)
    size = BatchSize(sentences=None, tokens=100)
    with pytest.raises(InputError, match="NaN"):
        force_translate(
            load_model_folder(tmp_path / "model"), [PAIR], device=torch.device("cpu"), batch_size=size
        )


@pytest.mark.parametrize(
    "spoilt", [lambda values: values * torch.nan, lambda values: values[:, :1]], ids=["NaN", "another shape"]
)
def test_a_proof_refuses_what_cannot_be_compared(spoilt):
    model = model_of().eval()

    def run(source, tokens):
        return [{"weights": spoilt(step["weights"])} for step in steps_of(model, source, tokens)]

    prove("an export", model, partial(steps_of, model), 0, "")
    with pytest.raises(InputError, match="differs from the model"):
        prove("an export", model, run, 1e9, "")


def test_a_model_that_computes_no_sentences_of_several_lengths_cannot_be_compared():
    model = model_of().eval()
    encode = model.encode

    def alone(source):
        if len(source.lengths) > 1:
            raise ValueError("one sentence at a time")
        return encode(source)

    model.encode = alone
    with pytest.raises(InputError, match="one sentence at a time"):
        prove("an export", model, partial(steps_of, model), 0, "")


def test_int8_weights_that_one_large_weight_takes_the_precision_of_are_not_written(tmp_path):
    saved = saved_model()
    saved.model.source_embedding.weight.data[:, 0] = 0  # so that what it is multiplied by has no effect
    for name, weight in saved.model.encoder.named_parameters():
        if "weight_ih" in name:
            weight.data[:, 0] = 1000
        weight.data[..., 1:] *= 5
    saved.model.decoder.output.weight.data *= 30
    for precision in ("fp32", "bf16"):
        save_model_folder(tmp_path / precision, saved, precision=precision)
    with pytest.raises(InputError, match="int8 weights move the probabilities"):
        save_model_folder(tmp_path / "int8", saved, precision="int8")
    with pytest.raises(InputError, match="int8 weights move the probabilities"):
        page_model(tmp_path / "fp32")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bf16", "fp32"]
