"""The page that translates: what its own modules compute is what the rounded model does."""

import gzip
import json
import re
from importlib import import_module
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import torch

from joined_words import Casing, lowered
from seq2seq.cli.api import Run
from seq2seq.common.errors import InputError
from seq2seq.data.folders import MODELS
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END_ID
from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.sentences import sentences as split
from seq2seq.export import translating_page
from seq2seq.export.translating_page import export_page, static_file
from seq2seq.models.folder import SavedModel, load_model_folder, save_model_folder
from seq2seq.models.limits import LengthLimits
from tensorboard_attention.page import bundle, viewer_modules
from tests.decoding.test_sentences import FOURTEEN
from tests.decoding.test_sentences import SPLIT as SPLIT_TEXTS
from tests.export.translating import assert_same, data_of, in_node, matrix_of, rounded, steps_of, tree_of
from tests.small import VARIANTS, built_in_pairs, tokenizers_of
from tests.small import model_of as small_model

WORDS, CASING = (import_module(f"packages.joined-words.tests.test_{each}") for each in ("words", "casing"))
COMPUTED = (
    *("additive", "scaled_dot", "dot", "bilinear", "gaussian", "one_way_two_layers"),
    *("bridge_and_readout", "from_zeros", "token_in_query", "tied"),
)
MORE_COMPUTED = {
    "average": {"score": "average"},
    "fixed_gaussian": {"score": "fixed_gaussian"},
    "more_layers_in_the_encoder": {"encoder_layers": 2},
    "more_layers_in_the_decoder": {"encoder_layers": 1, "num_layers": 2, "initial_state": "zeros"},
}
REFUSED = {
    "sparse_coverage": "attention with a score and a softmax only",
    "local_m": "attention with a score and a softmax only",
    "local_p_heads": "attention with a score and a softmax only",
    "monotonic": "attention with a score and a softmax only",
    "lstm": "encoder=gru with decoder=bahdanau only",
    "lstm_decoder": "GRU cells and these scores only",
    "luong": "encoder=gru with decoder=bahdanau only",
    "reversed": "model.reverse_source=false only",
}
OTHERS = {
    "lstm": {"cell": "lstm"},
    "lstm_decoder": {"cell": "lstm", "encoder_cell": "gru"},
    "luong": {"decoder": "luong"},
    "reversed": {"reverse_source": True},
}
SEARCHES = (
    {"beam_size": 1},
    {"beam_size": 5, "length_penalty": "average"},
    {"beam_size": 3, "length_penalty": "gnmt", "length_penalty_alpha": 0.8},
)
TRANSLATE = """
const translator = new Translator(given.model);
return given.sentences.map((sentence) => given.searches.map(({ beam_size: beam, length_penalty, length_penalty_alpha: alpha }) => {
  const read = translator.read(sentence);
  const found = translator.translate(read, { beam, penalty: length_penalty ?? "none", alpha });
  const { text, target, source, score } = found;
  return { text, target, source, score, weights: [...found.weights] };
}));
"""
TOKENIZE = """
return given.codecs.map((described, side) => {
  const codec = new Codec(described);
  return given.texts[side].map((text) => {
    const { ids, unknown } = codec.read(text);
    return [ids, unknown, codec.write(ids)];
  });
});
"""
HARD = [
    "", "  ", "a", "  Two  spaces. ", "don't o'clock it's the dogs' house", "« Ça va ? » — non !",
    "l'été, est-ce que…", "naïve ﬁancé ÀÉ ǅ Ⅷ ½ x_1 3.5%", "ΟΔΟΣ İstanbul ẞ ß", "我喜欢 喝茶。",
    "أحب الشاي", "e\N{COMBINING ACUTE ACCENT}t", "🙂 👨‍👩‍👧 \N{NO-BREAK SPACE}x\x1cy\x85z",
    "<unk> <pad> <eos> <0x41>", "\N{LOWER ONE EIGHTH BLOCK}mark", "oooooooo zzzzzz", "- ¿la “dog”?", "\"a cat\"", "[the dog]",
    "<br /> \"quoted\"; and: (so) [on] {it} goes!", "\ufeff\u200b", "a\0b\u200b c\u00ad-d\u200e", "\x1b[1m I\u2060I",
]  # fmt: skip


@pytest.fixture(scope="module")
def pairs():
    return built_in_pairs(60)


@pytest.fixture(scope="module")
def model_of(pairs, tmp_path_factory):
    """Makes a model folder of a description and kind of tokens, with weights that matter."""
    made = {}

    def make(tokenizer="word", **changes):
        key = json.dumps([tokenizer, changes])
        if key not in made:
            folder = tmp_path_factory.mktemp("model")
            size = {} if tokenizer == "word" else {"vocab_size": 340}
            joint = changes.get("tie") == "all"
            codecs = tokenizers_of(pairs, tokenizer=tokenizer, joint=joint, **size)
            sizes = [len(codec.vocabulary) for codec in codecs]
            model = small_model(
                source_vocab_size=sizes[0], target_vocab_size=sizes[1], seed=3, **changes
            ).float()
            for parameter in model.parameters():
                parameter.data.mul_(2)
            model.decoder.output.bias.data[END_ID] += 1  # some hypotheses end early
            limits = LengthLimits(max_ratio=0.5, max_extra=4)
            save_model_folder(folder / "model", SavedModel(model, *codecs, limits))
            made[key] = folder / "model"
        return made[key]

    return make


@pytest.fixture
def unproved(monkeypatch):
    """Leave out the proof of a page, where the test compares the same."""
    monkeypatch.setattr(translating_page, "prove", lambda *_: None)


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("variant", [*COMPUTED, *MORE_COMPUTED, "unigram", "bpe"])
def test_the_page_translates_as_the_rounded_model(variant, model_of, pairs):
    changes = (VARIANTS | MORE_COMPUTED).get(variant, {})
    folder = model_of(variant if variant in ("unigram", "bpe") else "word", **changes)
    sentences = [pair.source for pair in pairs[:2]] + ["An unknown zebra, naïve 🙂!"]
    page = export_page(folder, "")
    model = data_of(page)["model"]
    found = in_node(TRANSLATE, model=model, sentences=sentences, searches=SEARCHES)
    translator = rounded(folder, page)
    for place, options in enumerate(SEARCHES):
        search = search_from_options(**options)
        for of_sentence, expected in zip(found, translator.translate(sentences, search=search), strict=True):
            assert_same(of_sentence[place], expected)


SPLIT = """
const translator = new Translator(given.model);
return given.texts.map((text) => [translator.split(text), sentencesOf(text)]);
"""
DIFFERENT = {
    "He is Mr. Smith. Why?": ["He is Mr. ", "Smith. ", "Why?"],
    "It is 10 a.m. on Jan. 5. Why?": ["It is 10 a.m. ", "on Jan. ", "5. Why?"],
    "In the U.S. he works.": ["In the U.S. ", "he works."],
    'She said "Go. Now." and left.': ['She said "Go. ', 'Now." ', "and left."],
    "Yes… No.": ["Yes… ", "No."],
}
"""Texts that the page splits otherwise than the library, which knows abbreviations and quotations."""


def test_the_page_splits_texts_where_marks_end_sentences(model_of, pairs):
    folder = model_of()
    model = data_of(export_page(folder, ""))["model"]
    texts = [
        *(each for each in SPLIT_TEXTS if "Mr." not in each),
        FOURTEEN,
        *(f"{a.source} {b.source}" for a, b in pairwise(pairs)),
    ]
    found = in_node(SPLIT, model=model, texts=[*texts, *DIFFERENT])
    for text, (_, of_page) in zip(texts, found, strict=False):
        assert [*map(str.strip, of_page)] == [*map(str.strip, split(text, "en"))], text
    for (text, expected), (_, of_page) in zip(DIFFERENT.items(), found[len(texts) :], strict=True):
        assert of_page == expected != split(text, "en"), text
    run = Run(folder)
    for text, (parts, _) in zip(texts, found, strict=False):
        (whole,) = run.translate([text], beam_size=1)
        each = [one.text for one in run.translate([part["text"] for part in parts], beam_size=1)]
        together = "".join(part["gap"] + one for part, one in zip(parts, each, strict=True))
        assert together == whole.text, text


def test_bounds_of_lengths_are_the_same_for_every_ratio_and_length():
    body = """
return given.ratios.map((ratio) => given.lengths.map((length) =>
  boundsOf({ min_ratio: ratio, max_ratio: ratio, max_extra: 1 }, length).maximum));
"""
    lengths, of_tensor = range(1, 1001), torch.arange(1, 1001)
    others = {1e-4: 1, 0.125: 1250, 1.3333: 13_333, 2.0001: 20_001, 1e6: 10**10, 123.4567: 1_234_567}
    ratios = {number / 100: 100 * number for number in range(1, 1001)} | others
    found = in_node(body, ratios=list(ratios), lengths=list(lengths))
    for (ratio, parts), of_page in zip(ratios.items(), found, strict=True):
        wanted = np.arange(1, 1001) * parts // 10_000
        limits = LengthLimits(min_ratio=ratio, max_ratio=ratio, max_extra=1)
        np.testing.assert_array_equal(limits.minimum(of_tensor), wanted)
        np.testing.assert_array_equal(limits.maximum(of_tensor), wanted + 1)
        np.testing.assert_array_equal(of_page, wanted + 1)


ASKED = """
const translator = new Translator(given.model);
const read = translator.read(given.sentence);
const weights = new Map(given.weights);
const options = { beam: 1, penalty: "none", prefix: given.prefix, weights };
const found = translator.translate(read, options);
return found.path.map(({ token, parent: { made } }) => ({
  token, query: [...made.query], scores: [...made.scores], weights: [...made.weights],
  context: [...made.context], features: [...made.features],
  log_probabilities: [...made.logProbabilities],
  ...Object.fromEntries(["reset", "update", "candidate", "state"].map((name) =>
    [name, [...made.cells[0][name]]])),
}));
"""


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("variant", ["additive", "token_in_query", "bridge_and_readout"])
def test_what_is_asked_of_a_step_is_what_the_decoder_computes(variant, model_of, pairs):
    folder, sentence = model_of(**VARIANTS[variant]), pairs[3].source
    page = export_page(folder, "")
    translator = rounded(folder, page)
    length = len(translator._source_tokenizer.encode(sentence)) + 1
    given = [[1, [1 / length] * length], [3, [0.0, 1.0] + [0.0] * (length - 2)]]
    prefix = [9, 5, 7]
    model = data_of(page)["model"]
    found = in_node(ASKED, model=model, sentence=sentence, weights=given, prefix=prefix)
    expected = steps_of(translator, sentence, prefix, dict(given), count=len(found))
    assert len(found) > len(prefix)
    for of_page, step in zip(found, expected, strict=True):
        assert of_page.keys() == step.keys()
        for name, value in step.items():
            np.testing.assert_allclose(of_page[name], value, atol=1e-4, err_msg=name)
    alone = steps_of(translator, sentence, prefix, count=len(found))
    assert not np.allclose(alone[3]["context"], expected[3]["context"], atol=1e-3)


TREE = """
const translator = new Translator(given.model);
const options = { beam: 4, penalty: "average" };
const { levels, winner } = translator.translate(translator.read(given.sentence), options);
return levels.slice(1).map((nodes, step) => nodes.map(({ token, score, parent, fate }) => [
  token, score, parent.token, fate,
]));
"""


@pytest.mark.usefixtures("unproved")
def test_the_tree_is_what_the_beam_has_seen(model_of, pairs):
    folder, sentence = model_of(**VARIANTS["from_zeros"]), pairs[5].source
    page = export_page(folder, "")
    steps = tree_of(rounded(folder, page), sentence, 4, load_model_folder(folder).limits)
    search = search_from_options(beam_size=4, length_penalty="average")
    [best] = rounded(folder, page).translate([sentence], search=search)
    levels = in_node(TREE, model=data_of(page)["model"], sentence=sentence)
    assert len(levels) == len(steps) > 1
    for found, expected in zip(levels, steps, strict=True):
        assert [(token, parent) for token, _, parent, _ in found] == [
            (token, parent) for token, _, parent in expected
        ]
        scores = [score for _, score, _, _ in found]
        np.testing.assert_allclose(scores, [score for _, score, _ in expected], atol=1e-4)
    fates = {fate for level in levels for *_, fate in level}
    assert {"ended", "went on"} <= fates
    ended = [score for level in levels for _, score, _, fate in level if fate == "ended"]
    assert min(abs(score - best.score) for score in ended) < 1e-4


def test_a_row_is_rounded_at_least_as_well_as_over_its_whole_range(model_of):
    folder = model_of(**VARIANTS["tied"])
    arrays = data_of(export_page(folder, ""))["model"]["parameters"]
    state = load_model_folder(folder).model.state_dict()
    matrices = {name: matrix for name in arrays if (matrix := matrix_of(arrays[name])) is not None}
    assert len(matrices) > 5
    for name, matrix in matrices.items():
        values = state[name].numpy()
        step = np.abs(values).max(axis=1, keepdims=True).clip(1e-30) / 127
        widest = np.square(np.round(values / step) * step - values).sum(axis=1)
        assert (np.square(matrix - values).sum(axis=1) <= widest * 1.001).all(), name


@pytest.mark.parametrize("variant", REFUSED)
def test_what_the_page_does_not_compute_is_refused_by_name(variant, model_of):
    folder = model_of(**VARIANTS.get(variant, OTHERS.get(variant)))
    with pytest.raises(InputError, match=re.escape(f"a page computes {REFUSED[variant]}")):
        export_page(folder, "")


def test_a_page_that_computes_another_model_is_refused(model_of, monkeypatch):
    folder = model_of(**MORE_COMPUTED["more_layers_in_the_decoder"])
    export_page(folder, "")

    def layers_confused(names):
        return bundle(names).replace("this.spec.encoder_layers", "this.spec.decoder_layers")

    monkeypatch.setattr(translating_page, "bundle", layers_confused)
    with pytest.raises(InputError, match="the page with"):
        export_page(folder, "")
    monkeypatch.setattr(
        translating_page, "bundle", lambda names: bundle(names).replace("1 / (1 +", "1 / (1.001 +")
    )
    with pytest.raises(InputError, match="differs from the model"):
        export_page(folder, "")


def test_without_node_a_page_is_written_with_a_note(model_of, monkeypatch, capsys):
    monkeypatch.setattr(translating_page.shutil, "which", lambda name: None)
    export_page(model_of(), "")
    assert "node" in capsys.readouterr().err


def codecs_in_a_page(codecs, folder):
    """What a page holds of the tokenizers of a model."""
    source, target = codecs
    model = small_model(source_vocab_size=source.vocab_size, target_vocab_size=target.vocab_size).float()
    save_model_folder(folder / "model", SavedModel(model, source, target, LengthLimits()))
    held = data_of(export_page(folder / "model", ""))["model"]
    return held["source"], held["target"]


def assert_tokens_alike(codecs, held, texts):
    """The texts of both sides become the same tokens in a page, and text again."""
    for codec, lines, found in zip(codecs, texts, in_node(TOKENIZE, codecs=held, texts=texts), strict=True):
        for text, (ids, unknown, written) in zip(lines, found, strict=True):
            assert ids == codec.encode(text), text
            assert unknown == codec.unknown(text), text
            assert written == codec.decode(ids), text


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize(
    ("name", "case", "languages"),
    [("word", "keep", "en fr"), ("word", "restore", "en fr"), ("basic_english", "restore", "en en"), ("character", "keep", "en fr"),
     ("whitespace", "keep", "en fr"), ("unigram", "keep", "en fr"), ("unigram", "restore", "en fr"), ("bpe", "keep", "en fr"),
     ("word", "keep", "deu zh_Hant"), ("word", "restore", "tr sv-FI"), ("unigram", "restore", "en az")],
)  # fmt: skip
def test_text_becomes_the_same_tokens_and_text_again(name, case, languages, pairs, tmp_path):
    size = {"vocab_size": 420} if name in ("unigram", "bpe") else {}
    drawn = WORDS.DRAWN if name == "word" and case == "keep" else []
    languages, hard = (
        languages.split(),
        [*HARD, *WORDS.SPELLINGS, *(text for _, text in WORDS.WRITTEN), *drawn],
    )
    learned = HARD[2:8] if size else hard[2:400]  # other words have joints that are unknown
    written = [*pairs, *(SentencePair(text, text) for text in learned)]
    codecs = tokenizers_of(written, languages, tokenizer=name, case=case, **size)
    held = codecs_in_a_page(codecs, tmp_path)
    sides = zip(*(pair.texts for pair in pairs[:20]), strict=True)
    assert_tokens_alike(codecs, held, [[*hard, *side] for side in sides])


def test_sentences_within_a_line_have_their_capitals_alike():
    draw = Random(1)
    marks = [
        *".!?:;…'\"«»“”()[]-–,。։ ",
        "...",
        ". ",
        " ! ",
        ' "',
        '. "',
        ".) ",
        " » ",
        " 3. ",
        " d. h. ",
        "\u2028",
    ]
    rows, expected = [], []
    for language, words, text, written in CASING.WITHIN.values():
        casing = Casing.learned([f"1 {words} {words}", text] * 4, language)
        parts = [*lowered(f"{words} {text}", language).split(), *marks * 2]
        lines = [written, *("".join(draw.choices([*parts, " "], k=30)) for _ in range(60))]
        lines = [*(lowered(line, language) for line in lines), "iPhone , eBay. İzmir. ilk"]
        rows.append([lines, casing.saved(), language == "tr"])
        expected.append([casing.restored(line, language) for line in lines])
    body = "return given.rows.map(([lines, casing, dotless]) => lines.map((line) => restored(line, casing, dotless)));"
    assert in_node(body, rows=rows) == expected


@pytest.mark.usefixtures("unproved")
def test_bytes_that_are_no_text_are_written_alike(pairs, tmp_path):
    codecs = tokenizers_of(pairs, tokenizer="unigram", vocab_size=420)
    codec = codecs[1]
    generator = np.random.default_rng(1)
    rows = [generator.integers(0, 300, 12).tolist() for _ in range(60)]
    rows += [codec.encode("▁▁a") + codec.encode("€🙂")[:3], *([each] for each in range(300))]
    body = "const codec = new Codec(given.codec); return given.rows.map((row) => codec.write(row));"
    found = in_node(body, codec=codecs_in_a_page(codecs, tmp_path)[1], rows=rows)
    assert found == [codec.decode(row) for row in rows]


@pytest.mark.parametrize("name", ["unigram", "bpe", "word"])
def test_multi30k_becomes_the_same_tokens(name, real_data, tmp_path):
    lines = {}
    for side in ("de", "en"):
        with gzip.open(real_data / "multi30k" / f"train.{side}.gz", "rt", encoding="utf-8") as file:
            lines[side] = file.read().splitlines()[:3000]
    pairs = [SentencePair(*pair) for pair in zip(lines["de"], lines["en"], strict=True)]
    size = {} if name == "word" else {"vocab_size": 2000}
    codecs = tokenizers_of(pairs[:2000], ("de", "en"), tokenizer=name, case="restore", **size)
    held = codecs_in_a_page(codecs, tmp_path)
    assert_tokens_alike(codecs, held, [lines[side][-1000:] for side in ("de", "en")])


def test_the_page_is_small_and_asks_nobody(model_of):
    folder = model_of(embedding_size=64, encoder_hidden_size=64, decoder_hidden_size=128)
    page = export_page(folder, "</script><script>alert(1)</script>")
    num_weights = sum(parameter.numel() for parameter in load_model_folder(folder).model.parameters())
    assert len(page.encode()) <= 1.45 * num_weights + 400_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert page.count("<script") == page.count("</script>") == 2


@pytest.mark.long
def test_a_thousand_sentences_of_the_default_model():
    folder, sentences = MODELS / "grammar-en-fr", [pair.source for pair in built_in_pairs(1000, "test")]
    page = export_page(folder, "")
    translator = rounded(folder, page)
    for options, least in (({"beam_size": 1}, 1000), ({"beam_size": 5, "length_penalty": "average"}, 995)):
        found = in_node(TRANSLATE, model=data_of(page)["model"], sentences=sentences, searches=[options])
        expected = translator.translate(sentences, search=search_from_options(**options))
        pairs = zip(found, expected, strict=True)
        assert sum(each["target"] == list(other.target_tokens) for [each], other in pairs) >= least


def test_the_modules_of_the_page_fit_behind_the_viewer_and_parse_no_text_as_markup():
    own = [static_file(name) for name in ("model.js", "asking.js")]
    script = bundle([own[0], *viewer_modules(), own[1]])
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|class|let) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules declare the same name"
    for module in own:
        assert not re.search(
            r"(inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function", module
        )
