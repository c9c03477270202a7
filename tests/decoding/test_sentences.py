"""Texts of several sentences: split, translated one by one, put together again."""

import pytest
import torch

from seq2seq.cli.api import Run
from seq2seq.data.text import SentencePair
from seq2seq.decoding.search import GREEDY, Sampling, Search
from seq2seq.decoding.sentences import sentences, translate_texts
from seq2seq.decoding.translator import Translator
from seq2seq.models.folder import SavedModel, save_model_folder
from tests.small import model_of, tokenizers_of

LINES = ["the cat sees us .", "where is it ?", "i see the dog !"]
FOURTEEN = (
    "My sister lives in Paris. She is a doctor. Her house is very big. It has a red door. We visit her every summer. "
    "The weather is nice there. I like the food. My brother works in a bank. He is tired today. He did not sleep well. "
    "What time is it? It is half past eight. I must go now. See you tomorrow!"
)
SPLIT = {
    "Mr. Smith is here. He paid 3.5 euros!  Why?": ["Mr. Smith is here. ", "He paid 3.5 euros!  ", "Why?"],
    "Use System.Drawing now. Yes.": ["Use System.Drawing now. ", "Yes."],
    "1. Open the file. 2. Close it.": ["1. Open the file. ", "2. Close it."],
    "one\ntwo three.\n\n  Four. ": ["one\n", "two three.\n\n", "  Four. "],
    "Well... Yes. :-)\n---\nNo": ["Well... ", "Yes. :-)\n", "---\n", "No"],
    "你好。我是谁？": ["你好。", "我是谁？"],
    "  ": ["  "],
    "": [""],
}


@pytest.fixture(params=["model", "heads"])
def folder(tmp_path, request):
    tokenizers = tokenizers_of(list(map(SentencePair, LINES, LINES)), ("en", "en"), joint=True)
    size = tokenizers[0].vocab_size
    changes = {"heads": 2} if request.param == "heads" else {}
    model = model_of(source_vocab_size=size, target_vocab_size=size, **changes).float()
    model.decoder.output.weight.data.mul_(3)
    save_model_folder(tmp_path / "model", SavedModel(model, *tokenizers))
    return tmp_path / "model"


@pytest.mark.parametrize("text", SPLIT)
def test_a_text_is_split_where_sentences_end(text):
    assert sentences(text, "en") == SPLIT[text]
    assert "".join(sentences(text, "und")) == text


def test_fourteen_sentences_are_fourteen():
    assert len(sentences(FOURTEEN, "en")) == 14


def test_a_text_is_its_translated_sentences_with_the_white_space_between_them(folder):
    run = Run(folder)
    one, two, three = run.translate(LINES)
    text = f" {LINES[0]}  {LINES[1]}\n\n   {LINES[2]}\n"
    found, blank, same = run.translate([text, " ", LINES[0]])
    assert found.text == f"{one.text}  {two.text}\n\n   {three.text}"
    assert blank.text == ""
    assert same.text == one.text
    parts = (one, two, three)
    assert found.score == pytest.approx(sum(each.score for each in parts), abs=1e-5)
    assert found.source_tokens == one.source_tokens + two.source_tokens + three.source_tokens
    torch.testing.assert_close(found.weights, torch.block_diag(*(each.weights for each in parts)))
    if one.heads is not None:
        rows, columns = one.weights.shape
        torch.testing.assert_close(found.heads[:, :rows, :columns], one.heads)
        torch.testing.assert_close(found.heads.mean(0), found.weights)
    starts = [(0, 0), one.weights.shape[::-1]]
    starts.append(tuple(map(sum, zip(starts[1], two.weights.shape[::-1], strict=True))))
    moved = [(i + a, j + b) for (a, b), each in zip(starts, parts, strict=True) for i, j in each.alignment()]
    assert found.alignment() == moved
    (without,) = run.translate([text], return_attention=False)
    assert without.text == found.text
    assert not without.weights.numel()


def test_line_ends_of_other_kinds_stay_within_the_line(folder):
    (found,) = Run(folder).translate([f"{LINES[0]}\u2028{LINES[1]}\r {LINES[2]}"])
    assert len(found.text.splitlines()) == 1


def test_the_nth_translation_has_the_nth_of_each_sentence(folder):
    translator, search = Translator.load(folder), Search(beam_size=3, num_best=3)
    each = translator.translate_n_best(LINES[:2], search=search)
    (found,) = translate_texts(translator, [" ".join(LINES[:2])], search=search)
    assert [one.text for one in found] == [f"{a.text} {b.text}" for a, b in zip(*each, strict=True)]
    assert [one.rank for one in found] == [1, 2, 3]


def test_samples_of_a_text_depend_on_its_number_only(folder):
    translator, search = Translator.load(folder), Search(sampling=Sampling(seed=3, temperature=2.0))
    texts = [" ".join(LINES), LINES[0], " ".join([LINES[0]] * 3)]
    whole = [each[0].text for each in translate_texts(translator, texts, search=search)]
    alone = [
        translate_texts(translator, [text], search=search, first_number=number)[0][0].text
        for number, text in enumerate(texts)
    ]
    assert whole == alone
    assert len({*translate_texts(translator, texts[2:], search=search)[0][0].text.splitlines()}) == 1


def test_a_text_with_a_prefix_is_one_sentence(folder):
    translator, text = Translator.load(folder), " ".join(LINES)
    (expected,) = translator.translate([text], search=GREEDY, prefixes=["the dog"])
    ((found,), (other,)) = translate_texts(translator, [text, text], search=GREEDY, prefixes=["the dog", ""])
    assert found.target_tokens == expected.target_tokens
    assert other.text == translate_texts(translator, [text], search=GREEDY)[0][0].text


def test_the_attention_of_a_text_too_long_to_hold_it_is_left_out_with_a_warning(folder, capsys):
    (found,) = Run(folder).translate([f"{LINES[0]} " * 500], beam_size=1)
    assert not found.weights.numel()
    assert len(found.source_tokens) == 3000
    assert "WARNING: a text of 500 sentences" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["zh", "fr"])
def test_languages_without_spaces_have_none_between_sentences(tmp_path, target):
    pairs = [SentencePair("你好。", "cat"), SentencePair("他来了。", "dog")]
    tokenizers = tokenizers_of(pairs, ("zh", target), "character")
    sizes = dict(
        zip(("source_vocab_size", "target_vocab_size"), (t.vocab_size for t in tokenizers), strict=True)
    )
    save_model_folder(tmp_path / "model", SavedModel(model_of(**sizes).float(), *tokenizers))
    run = Run(tmp_path / "model")
    parts = [each.text for each in run.translate(["你好。", "他来了。"])]
    (found,) = run.translate(["你好。他来了。"])
    assert found.text == {"zh": "", "fr": " "}[target].join(parts)


def test_each_sentence_of_a_text_with_a_tag_is_in_its_language(tmp_path):
    texts = ["xxde I see it .", "xxfr I see it ."]
    codecs = tokenizers_of(list(map(SentencePair, texts, texts)), ("mul", "mul"))
    model = model_of(source_vocab_size=codecs[0].vocab_size, target_vocab_size=codecs[1].vocab_size).float()
    save_model_folder(tmp_path / "model", SavedModel(model, *codecs))
    (found,) = Run(tmp_path / "model").translate(["xxfr I see it . I see it ."])
    assert found.source_tokens == ("xxfr", "I", "see", "it", ".", "<eos>") * 2
    (chosen,) = Run(tmp_path / "model").translate(["I see it . I see it ."], to="fr")
    assert chosen.source_tokens == found.source_tokens
