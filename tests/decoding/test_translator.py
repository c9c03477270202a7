import json
import shutil

import pytest
import torch

from seq2seq.decoding.model_folder import (
    TranslationModel,
    load_model_folder,
    save_model_folder,
)
from seq2seq.decoding.translator import LONGEST, Translator
from seq2seq.errors import InputError
from seq2seq.text.codec import CodecSettings, train_codecs
from tests.models import VARIANTS, model_of, spec_of

TEXT = ["a b c d e f g", "b c", "d e f"]


def exported_model(folder, **changes):
    settings = CodecSettings("word", lowercase=False, joint=True, min_frequency=1, max_size=None)
    codecs = train_codecs(
        settings, sources=TEXT, targets=TEXT, languages=("en", "en"), folder=folder / "codecs"
    )
    model = model_of(**changes).float()
    model.decoder.output.weight.data.mul_(3)
    exported = TranslationModel(spec_of(**changes), model, *codecs)
    save_model_folder(folder / "model", exported)
    return exported


@pytest.fixture
def folder(tmp_path):
    exported_model(tmp_path)
    return tmp_path / "model"


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_the_exported_model_equals_the_trained_one(tmp_path, variant):
    exported = exported_model(tmp_path, **VARIANTS[variant])
    loaded = load_model_folder(tmp_path / "model")
    assert loaded.spec == exported.spec
    expected, found = exported.model.state_dict(), loaded.model.state_dict()
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor)
    assert (loaded.model.decoder.output.weight is loaded.model.decoder.embedding.weight) == (
        exported.spec.tying != "none"
    )


def test_a_moved_folder_translates_the_same_and_a_run_folder_does_too(tmp_path, folder):
    before = [t.text for t in Translator.load(folder).translate(TEXT)]
    shutil.rmtree(tmp_path / "codecs")
    moved = tmp_path / "elsewhere" / "model"
    moved.parent.mkdir()
    folder.rename(moved)
    assert [t.text for t in Translator.load(moved).translate(TEXT)] == before
    assert [t.text for t in Translator.load(moved.parent).translate(TEXT)] == before


def test_one_translation_for_each_sentence_in_order_and_blank_for_blank(folder):
    translator = Translator.load(folder, max_tokens=16)
    sentences = ["a b", "", "c d e f", "   ", "unknown words", "a b"]
    translations = translator.translate(sentences)
    assert len(translations) == 6
    assert translations[0].text == translations[5].text
    assert [t.text for t in (translations[1], translations[3])] == ["", ""]
    for sentence, translation in zip(sentences, translations, strict=True):
        assert translation.text == translator.translate([sentence])[0].text
        assert translation.weights.shape == (
            len(translation.target_tokens),
            len(translation.source_tokens),
        )


def test_unknown_tokens_are_named(folder):
    translator = Translator.load(folder)
    assert translator.unknown_tokens("a strange b word") == ["strange", "word"]


def test_streaming_gives_the_same_as_translating_at_once(folder, monkeypatch):
    translator = Translator.load(folder)
    sentences = [TEXT[index % 3][: 1 + index % 13] for index in range(23)]
    whole = [t.text for t in translator.translate(sentences)]
    monkeypatch.setattr("seq2seq.decoding.translator.WINDOW", 5)
    assert [t.text for t in translator.stream(iter(sentences))] == whole


def refused(path, message):
    with pytest.raises(InputError, match=message) as caught:
        load_model_folder(path)
    assert "\n" not in str(caught.value)


def test_folders_that_hold_no_model_are_refused(tmp_path, folder):
    refused(tmp_path / "absent", "holds no model.json")
    header = json.loads((folder / "model.json").read_text())
    for changes, message in [
        ({"version": 3}, "this program reads seq2seq-model version 2"),
        ({"format": "other"}, "is other version 2"),
        ({"spec": {**header["spec"], "dropout": 0.5}}, "its sizes are not those"),
        ({"spec": {}}, "its sizes are not those"),
    ]:
        (folder / "model.json").write_text(json.dumps({**header, **changes}))
        refused(folder, message)
    (folder / "model.json").write_text("{")
    refused(folder, "does not describe a model")


def test_damaged_weights_are_refused(folder):
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:100])
    refused(folder, "its SHA-256 is not that in model.json")
    weights.unlink()
    refused(folder, "model.safetensors cannot be read")


def test_a_changed_or_missing_file_of_a_model_is_noticed(folder):
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for damaged in (content[:-1], bytes([content[0] ^ 1]) + content[1:], b""):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=path.name.replace(".", "[.]")):
                load_model_folder(folder)
        path.write_bytes(content)
    (folder / "source.json").unlink()
    with pytest.raises(InputError, match=r"source[.]json cannot be read"):
        load_model_folder(folder)


def test_an_export_replaces_a_model_whole(tmp_path, folder):
    (folder / "stale").write_text("of an earlier export")
    exported_model(tmp_path)
    assert not (folder / "stale").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codecs", "model"]


def test_of_an_endless_line_the_beginning_is_translated_with_a_warning(folder, capsys):
    translation = Translator.load(folder).translate(["a " * 100_000])[0]
    assert len(translation.source_tokens) == LONGEST + 1
    assert "of a line of 100,000 tokens the first 1,000 are translated" in capsys.readouterr().err


def test_a_translation_is_one_line_though_subwords_can_spell_a_line_feed(tmp_path):
    settings = CodecSettings("bpe", lowercase=False, joint=True, min_frequency=1, max_size=280)
    codec, _ = train_codecs(
        settings, sources=TEXT, targets=TEXT, languages=("en", "en"), folder=tmp_path
    )
    line_feed = codec.vocabulary.ids(["<0x0A>"])
    assert codec.tokenizer.text(["<0x0A>"]) == "\n"
    assert codec.decode([*codec.encode("a"), *line_feed, *codec.encode("b")]) == "a  b"
