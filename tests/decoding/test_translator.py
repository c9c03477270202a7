import json
import os
from dataclasses import replace

import pytest
import torch

from joined_words import Casing
from seq2seq.cli.api import Run
from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import UNKNOWN_ID
from seq2seq.decoding import translation as translations_module
from seq2seq.decoding import translator as translator_module
from seq2seq.decoding.forced import force_pairs, force_translate
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import GREEDY, Sampling, Search, search_from_options
from seq2seq.decoding.translation import EMPTY, Translation, UnknownCount
from seq2seq.decoding.translator import Translator, listed_texts
from seq2seq.export.translating_page import export_page
from seq2seq.models.folder import SavedModel, load_model_folder, save_model_folder
from seq2seq.models.limits import MAX_TOKENS, LengthLimits
from tests.small import VARIANTS, model_of, tokenizers_of

TEXT = ["a b c d e f g", "b c", "d e f"]
PAIRS = list(map(SentencePair, TEXT, TEXT))


def exported_model(folder, **changes):
    tokenizers = tokenizers_of(PAIRS, ("en", "en"), joint=True)
    model = model_of(**changes).float()
    model.decoder.output.weight.data.mul_(3)
    exported = SavedModel(model, *tokenizers)
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
    assert loaded.model.config == exported.model.config
    expected, found = exported.model.state_dict(), loaded.model.state_dict()
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor)
    assert (loaded.model.decoder.output.weight is loaded.model.decoder.embedding.weight) == (
        exported.model.config["tie_embeddings"] != "none"
    )


def test_a_moved_folder_translates_the_same_and_a_run_folder_does_too(tmp_path, folder):
    before = [t.text for t in Translator.load(folder).translate(TEXT)]
    moved = tmp_path / "elsewhere" / "model"
    moved.parent.mkdir()
    folder.rename(moved)
    assert [t.text for t in Translator.load(moved).translate(TEXT)] == before
    assert [t.text for t in Translator.load(moved.parent).translate(TEXT)] == before


WRONG = {
    "no source_vectors": ("model source_vectors", "/etc/passwd"), "num_layers=": ("model decoder num_layers", 2**24),
    "embedding_size=0": ("model embedding_size", 0), "hidden_size=0": ("model decoder hidden_size", 0),
    "Padding": ("model padding_id", 99), "callable": ("model decoder attention alignment", 0),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_a_description_that_fits_no_model_is_refused(folder, message):
    path = folder / "config.json"
    keys, value = WRONG[message]
    config = part = json.loads(path.read_text())
    *outer, last = keys.split()
    for key in outer:
        part = part[key]
    part[last] = value
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=message):
        load_model_folder(folder)


@pytest.mark.parametrize("name", ["source.json", "model.safetensors"])
def test_a_pipe_in_a_folder_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="no regular file"):
        load_model_folder(folder)


def test_one_translation_for_each_sentence_in_order_and_blank_for_blank(folder):
    translator = Translator.load(folder, max_tokens=16)
    sentences = ["a b", "", "c d e f", "   ", "unknown words", "a b"]
    translations = translator.translate(sentences)
    assert len(translations) == 6
    assert translations[0].text == translations[5].text
    assert [t.text for t in (translations[1], translations[3])] == ["", ""]
    for sentence, translation in zip(sentences, translations, strict=True):
        assert translation.text == translator.translate([sentence])[0].text
        assert translation.weights.shape == (len(translation.target_tokens), len(translation.source_tokens))


def test_unknown_tokens_are_named(folder):
    translator = Translator.load(folder)
    assert translator.unknown_tokens("a strange b word") == ["strange", "word"]
    found = translator.translate(["a strange b word", "a b", "", "odd"], return_attention=False)
    assert [each.unknown for each in found] == [("strange", "word"), (), (), ("odd",)]
    assert found[0].marked_source() == ("a", "[strange]", "b", "[word]", "<eos>")
    assert found[0].unknown_note() == "[unknown to the model: strange, word]"
    assert found[1].unknown_note() == ""
    (forced,) = force_translate(
        load_model_folder(folder),
        [SentencePair("odd a", "b")],
        device=torch.device("cpu"),
        batch_size=BatchSize(sentences=1, tokens=None),
    )
    assert forced.unknown == ("odd",)


@pytest.mark.parametrize(
    ("most", "warned"), [(3, "line 12 has 3 tokens"), (4, "line 13 has 4 tokens"), (None, None)]
)
def test_a_line_longer_than_any_of_the_training_is_warned_of_once(most, warned, folder, capsys):
    config = json.loads((folder / "config.json").read_text())
    config["limits"]["max_source"] = most
    (folder / "config.json").write_text(json.dumps(config))
    run = Run(folder)
    for first_number in (10, 20):
        run.translate(["a b", "a b c", "a b c a"], first_number=first_number)
    said = capsys.readouterr().err
    assert said.count("WARNING") == (warned is not None)
    assert (warned or "") in said


def test_unknown_tokens_of_many_lines_are_one_line(folder, monkeypatch):
    count = UnknownCount()
    translator = Translator.load(folder)
    count.add(translator.translate(["a b", ""]))
    assert count.warnings() == []
    monkeypatch.setattr(translations_module, "MOST_NAMED", 2)
    count.add(translator.translate(["x y \ue000", "y z y"]))
    (line,) = count.warnings()
    assert line == "WARNING: unknown to the model: 6 tokens in 2 of 4 lines: y 3, x 1"


def test_windows_are_translated_as_the_whole_text_and_ranks_count_translations(folder):
    run = Run(folder)
    sentences = [TEXT[index % 3][: 1 + index % 13] for index in range(23)]
    for options in ({"beam_size": 1}, {"beam_size": 3, "n_best": 2}, {"sample": True, "seed": 4}):
        whole = run.translate(sentences, **options)
        assert sum(each.rank == 1 for each in whole) == len(sentences)
        windows = [
            run.translate(sentences[start : start + 5], None, start, **options) for start in range(0, 23, 5)
        ]
        assert [(t.rank, t.text) for each in windows for t in each] == [(t.rank, t.text) for t in whole]


def test_the_best_of_a_beam_is_what_translate_gives(folder):
    translator = Translator.load(folder)
    beams = translator.translate_n_best(TEXT, search=Search(beam_size=4, num_best=3))
    best = translator.translate(TEXT, beam_size=4, search=GREEDY, return_attention=True)
    for (first, *others), translation in zip(beams, best, strict=True):
        assert first.text == translation.text
        assert first.score == pytest.approx(translation.score, abs=1e-6)
        torch.testing.assert_close(first.weights, translation.weights)
        assert all(other.score <= first.score for other in others)
    assert not translator.translate(TEXT, beam_size=4, return_attention=False)[0].weights.numel()


def test_a_beam_size_alone_is_the_search_of_the_commands(folder):
    translator = Translator.load(folder)
    expected = [each.text for each in Run(folder).translate(TEXT, beam_size=4)]
    assert [each.text for each in translator.translate(TEXT, beam_size=4)] == expected
    assert [each.text for each in translator.translate(TEXT, beam_size=4, search=GREEDY)] != expected
    greedy = [each.text for each in Run(folder).translate(TEXT, beam_size=1)]
    for options in ({}, {"beam_size": 1}):
        assert [each.text for each in translator.translate(TEXT, **options)] == greedy


def test_a_translation_begins_with_its_prefix(folder):
    translator = Translator.load(folder)
    prefixed = translator.translate(TEXT, beam_size=3, prefixes=["c d", "", "g"])
    assert prefixed[0].target_tokens[:2] == ("c", "d")
    assert prefixed[1].text == translator.translate(TEXT, beam_size=3)[1].text
    assert prefixed[2].target_tokens[0] == "g"
    for wrong in (["c d"], ["c", "d", "g", "c"]):
        with pytest.raises(InputError, match="one for each"):
            translator.translate(TEXT, prefixes=wrong)


def test_translations_are_as_long_as_the_model_was_trained_for_or_the_search_allows(tmp_path):
    exported = exported_model(tmp_path)
    exported.model.decoder.output.bias.data[UNKNOWN_ID] = 1e3  # it never ends
    limits = LengthLimits(max_ratio=4.5, max_extra=21)
    save_model_folder(tmp_path / "model", replace(exported, limits=limits))
    translator = Translator.load(tmp_path / "model")
    for search in (GREEDY, Search(beam_size=2), Search(sampling=Sampling(seed=1))):
        (found,) = translator.translate(["b c"], search=search)
        assert len(found.target_tokens) == int(3 * 4.5) + 21
    (found,) = translator.translate(["b c"], search=Search(max_ratio=1.5))
    assert len(found.target_tokens) == int(3 * 1.5) + 10


def test_an_unknown_word_is_replaced_by_the_source_word_it_attends_to(tmp_path):
    exported = exported_model(tmp_path)
    exported.model.decoder.output.bias.data[UNKNOWN_ID] = 1e3
    save_model_folder(tmp_path / "model", exported)
    translator = Translator.load(tmp_path / "model")
    (kept,) = translator.translate(["a strange word"])
    assert kept.text.startswith("<unk> <unk>")
    (replaced,) = translator.translate(["a strange word"], replace_unk=True)
    assert translator.num_replaced > 0
    with pytest.raises(InputError, match="list"):
        translator.translate("a strange word")
    words = ["a", "strange", "word"]
    expected = [words[place] for place, _ in kept.alignment()]
    assert list(replaced.target_tokens[: len(expected)]) == expected
    assert replaced.text == " ".join(expected)


def test_the_word_that_replaces_is_whole_where_the_source_has_subwords(tmp_path):
    texts = ["a strange word", "b c d"] * 10
    pairs = list(map(SentencePair, texts, texts))
    source, _ = tokenizers_of(pairs, ("en", "en"), "bpe", vocab_size=275)
    _, target = tokenizers_of(pairs, ("en", "en"))
    model = model_of(source_vocab_size=source.vocab_size, target_vocab_size=target.vocab_size).float()
    model.decoder.output.bias.data[UNKNOWN_ID] = 1e3
    save_model_folder(tmp_path / "model", SavedModel(model, source, target))
    (found,) = Translator.load(tmp_path / "model").translate(["a strange word"], replace_unk=True)
    assert len(found.source_tokens) > 4
    assert found.text
    assert {*found.text.split()} <= {"a", "strange", "word"}


def test_a_sentence_that_names_no_language_is_not_translated_into_any(tmp_path):
    texts = ["xxde I see it .", "xxfr I see it ."]
    codecs = tokenizers_of(list(map(SentencePair, texts, texts)), ("mul", "mul"))
    model = model_of(source_vocab_size=codecs[0].vocab_size, target_vocab_size=codecs[1].vocab_size).float()
    save_model_folder(tmp_path / "model", SavedModel(model, *codecs))
    translator = Translator.load(tmp_path / "model")
    assert len(translator.translate([*texts, ""])) == 3
    for wrong in (
        lambda: translator.translate(["I see it ."]), lambda: force_pairs(tmp_path / "model", [SentencePair("I see it .", "it")]),
        lambda: translator.translate(["xxit I see it ."]),
    ):  # fmt: skip
        with pytest.raises(InputError, match="xxde, xxfr"):
            wrong()
    with pytest.raises(InputError, match="one language"):
        export_page(tmp_path / "model", "")
    assert Translator.load(tmp_path / "model", to="de").translate(["I see it ."])


def test_an_alignment_leaves_the_ends_out():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.0, 0.1, 0.9]])
    found = Translation("x y", ("a", "b", "<eos>"), ("x", "y", "<eos>"), -1.0, weights)
    assert found.alignment() == [(1, 0), (0, 1)]
    assert json.loads(json.dumps(found.as_dict()))["alignment"] == [[1, 0], [0, 1]]
    assert EMPTY.alignment() == []


def test_a_token_that_attends_to_no_word_is_linked_to_none():
    weights = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    tokens = ("x", "y", "z", "<eos>")
    assert Translation("x y z", ("a", "b", "<eos>"), tokens, -1.0, weights).alignment() == [(1, 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam"),
        ({"beam_size": 2, "num_best": 3}, "3 best of a beam of 2"),
        ({"beam_size": 2, "sampling": {}}, "not a beam of 2"),
        ({"beam_size": 1, "length_penalty": "mean"}, "name='mean'"),
        ({"beam_size": 1, "sampling": {"temperature": 0.0}}, "temperature"),
        ({"max_ratio": "1"}, "max_ratio='1'"),
        ({"min_ratio": [0.5]}, "min_ratio"),
        ({"length_penalty": "gnmt", "length_penalty_alpha": "0.6"}, "alpha='0.6'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        search_from_options(**options)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("A dog.", "a list of sentences"),
        ([5], "must be text"),
        (["I see \ud800 it."], "half of a surrogate pair"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, message):
    with pytest.raises(InputError, match=message):
        listed_texts(texts, None)


@pytest.mark.parametrize("max_tokens", [0, -1, 1.5, "9", True])
def test_a_size_of_batches_that_is_none_is_refused(folder, max_tokens):
    with pytest.raises(InputError, match=r"BatchSize\.tokens"):
        Translator.load(folder, max_tokens=max_tokens)


def test_a_device_that_is_not_there_is_refused(folder):
    with pytest.raises(InputError, match="device 'xpu:7': PyTorch finds no such device"):
        Translator.load(folder, device="xpu:7")


def test_a_precision_that_is_none_is_refused(folder):
    with pytest.raises(InputError, match="no precision 'fp8': choose fp32, bf16 or int8"):
        Translator.load(folder, precision="fp8")


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_rounded_products_leave_scores_and_attention_in_float32_and_near(folder, beam, precision):
    options = {"beam_size": beam, "prefixes": ["b c", "d", "e f"]}
    exact = Translator.load(folder, precision="fp32").translate(TEXT, **options)
    rounded = Translator.load(folder, precision=precision).translate(TEXT, **options)
    assert [t.score for t in rounded] != [t.score for t in exact]
    for one, other in zip(rounded, exact, strict=True):
        assert one.weights.dtype == torch.float32
        assert one.score == pytest.approx(other.score, rel=0.03)
        torch.testing.assert_close(one.weights.sum(dim=1), torch.ones(len(one.weights)))


def test_of_an_endless_line_the_beginning_is_translated_with_a_warning(folder, capsys):
    translation = Translator.load(folder).translate(["a " * 10_000])[0]
    assert len(translation.source_tokens) == MAX_TOKENS + 1
    assert "of a line of 10,000 tokens the first 1,000 are translated" in capsys.readouterr().err


def test_members_of_an_ensemble_share_their_vocabulary(tmp_path, folder):
    exported, other = load_model_folder(folder), tmp_path / "other"
    tokens = exported.target_tokenizer.vocabulary
    exported.target_tokenizer.set_vocabulary([*tokens[:-2], tokens[-1], tokens[-2]])
    save_model_folder(other, exported)
    with pytest.raises(InputError, match="model 2 of the ensemble has another target vocab"):
        Translator.load(folder, other)


def test_members_of_an_ensemble_translate_in_one_direction(tmp_path):
    pairs = [SentencePair("the dog", "le chien")] * 9
    tokenizers = tokenizers_of(pairs, ("en", "fr"), joint=True)
    sizes = {"source_vocab_size": tokenizers[0].vocab_size, "target_vocab_size": tokenizers[1].vocab_size}
    there = SavedModel(model_of(**sizes).float(), *tokenizers)
    back = SavedModel(model_of(**sizes).float(), *tokenizers[::-1])
    both = SavedModel(model_of(**sizes).float(), *tokenizers, both_directions=True)
    with pytest.raises(
        InputError, match="model 2 of the ensemble translates from fr into en, the first from en into fr"
    ):
        Translator(there, back)
    for members in ((there, both), (both, there), (back, both), (both, back)):
        to = "fr" if there in members else "en"
        (found,) = Translator(*members, to=to).translate(["the le dog"])
        assert found.source_tokens[:3] == ("the", "le", "dog")
    with pytest.raises(InputError, match="translates from"):
        Translator(both, back)


def test_the_tag_of_the_language_replaces_no_unknown_word():
    pairs = [SentencePair(f"xx{code} a strange word", "a word") for code in ("de", "fr")] * 9
    tokenizers = tokenizers_of(pairs, ("en", "mul"))
    model = model_of(
        source_vocab_size=tokenizers[0].vocab_size, target_vocab_size=tokenizers[1].vocab_size
    ).float()
    model.decoder.output.bias.data[UNKNOWN_ID] = 1e3
    translator = Translator(SavedModel(model, *tokenizers))
    (found,) = translator.translate(["xxde strange strange"], replace_unk=True)
    assert set(found.text.split()) == {"strange"}
    (found,) = Translator(SavedModel(model, *tokenizers), to="fr").translate(["strange"], replace_unk=True)
    assert set(found.text.split()) == {"strange"}


def test_translations_with_replaced_words_have_their_case_restored_too(tmp_path):
    exported = exported_model(tmp_path)
    exported.model.decoder.output.bias.data[UNKNOWN_ID] = 1e3
    target = exported.target_tokenizer
    target.case = target.arguments["case"] = "restore"
    target.casing = Casing({"strange": "Strange"}, True)
    save_model_folder(tmp_path / "model", exported)
    (found,) = Translator.load(tmp_path / "model").translate(["strange strange"], replace_unk=True)
    assert set(found.text.split()) == {"Strange"}


@pytest.mark.parametrize(
    ("name", "options", "language", "sentence"),
    [
        ("word", {}, "en", "iPhone McDonald NASA the"),
        ("word", {}, "tr", "İzmir IŞIK ilk"),
        ("word", {}, "de", "STRAẞE Straße ẞ"),
        ("word", {}, "el", "ΟΔΟΣ Οδος"),
        ("word", {}, "fi", "EU:N Eu:n"),  # two words each before they are lower-cased, or one
        ("word", {"rules": "moses"}, "en", "McDonald NASA"),
        ("bpe", {"vocab_size": 280}, "tr", "İzmir IŞIK McDonald"),
    ],
)
def test_the_word_that_replaces_is_as_the_source_writes_it(name, options, language, sentence):
    pairs = list(map(SentencePair, ["a b c d e", "b c d"] * 9, ["a b", "b a"] * 9))
    source, _ = tokenizers_of(pairs, (language, "en"), name, case="lower", **options)
    assert list(dict.fromkeys(translator_module._words_of_tokens(source, sentence))) == sentence.split()
    for case in ("restore", "lower"):
        _, target = tokenizers_of(pairs, ("en", "de"), case=case)
        target.casing = Casing({"mcdonald": "Mcdonald"}, False)
        model = model_of(source_vocab_size=source.vocab_size, target_vocab_size=target.vocab_size).float()
        model.decoder.output.bias.data[UNKNOWN_ID] = 1e3
        translator, words = Translator(SavedModel(model, source, target)), sentence.split()
        for word, found in zip(words, translator.translate(words, replace_unk=True), strict=True):
            assert {*found.text.split()} == {*found.target_tokens} == {word}


def test_words_of_basic_english_have_the_capitals_of_the_source():
    source, _ = tokenizers_of(PAIRS, ("en", "en"), "word", rules="basic_english")
    words = translator_module._words_of_tokens(source, 'The "NASA" is the One.')
    assert words == ["The", "NASA", "is", "the", "One", "."]


def test_a_translation_is_one_line_though_subwords_can_spell_a_line_feed():
    tokenizer, _ = tokenizers_of(PAIRS, ("en", "en"), "bpe", joint=True, vocab_size=280)
    line_feed = tokenizer.ids(["<0x0A>"])
    assert tokenizer.join(["<0x0A>"]) == "\n"
    assert tokenizer.decode([*tokenizer.encode("a"), *line_feed, *tokenizer.encode("b")]) == "a  b"
    assert "\r" not in tokenizer.decode([*tokenizer.encode("a"), *tokenizer.ids(["<0x0D>"])])


def test_an_export_replaces_a_model_whole(tmp_path, folder):
    exported_model(tmp_path)
    load_model_folder(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@torch.no_grad()
def test_an_output_layer_whose_weight_a_hook_makes_is_called_in_the_search():
    model = model_of()
    model.decoder.output = torch.nn.utils.spectral_norm(model.decoder.output).eval()
    model.decoder.output.weight_orig += 0.1  # its weight is what it was until the layer is called
    source = SourceBatch(torch.tensor([[4, 5, 0]]), torch.tensor([3]))
    (hypothesis,) = greedy_search(model, source, limits=LengthLimits(max_ratio=0, max_extra=1))
    features, _ = model.decoder(torch.tensor([[2]]), model.encode(source))
    log_probs = model.decoder.output(features[0]).log_softmax(-1)
    assert hypothesis.score == pytest.approx(float(log_probs[0, hypothesis.ids[0]]))
