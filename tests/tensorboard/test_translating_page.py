"""The page that translates: what its own modules compute is what the rounded model does."""

import gzip
import json
import re

import numpy as np
import pytest
import torch

from seq2seq.decoding.lengths import LengthBounds
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder, save_model_folder
from seq2seq.decoding.search import search_from_options
from seq2seq.errors import InputError
from seq2seq.model.build import build_seq2seq
from seq2seq.tensorboard.translating_page import export_page
from seq2seq.text.corpus import SentencePair
from tests.models import VARIANTS, spec_of
from tests.programs import program
from tests.tiny import codecs_of
from tests.translating import assert_same, data_of, in_node, rounded

COMPUTED = (
    *("additive", "scaled_dot", "dot", "bilinear", "gaussian", "one_way_two_layers"),
    *("bridge_and_readout", "from_zeros", "token_in_query", "tied"),
)
REFUSED = {
    "sparse_coverage": "attention.coverage=False only, not attention.coverage=True",
    "local_m": "attention.kind=global only, not attention.kind=local_m",
    "local_p_heads": "attention.kind=global only, not attention.kind=local_p",
    "monotonic": "attention.kind=global only, not attention.kind=monotonic",
    "lstm": "model.cell=gru only, not model.cell=lstm",
    "luong": "decoder=bahdanau only, not decoder=luong",
    "reversed": "data.reverse_source=False only, not data.reverse_source=True",
}
OTHERS = {
    "lstm": {"cell": "lstm"},
    "luong": {"decoder": "luong"},
    "reversed": {"reverse_source": True},
}
SEARCHES = (
    {"beam": 1},
    {"beam": 5, "length_penalty": "average"},
    {"beam": 3, "length_penalty": "gnmt", "alpha": 0.8},
)
TRANSLATE = """
const translator = new Translator(given.model);
return given.sentences.map((sentence) => given.searches.map(({ beam, length_penalty, alpha }) => {
  const read = translator.read(sentence);
  const found = translator.translate(read, { beam, penalty: length_penalty ?? "none", alpha });
  const { text, target, source, score } = found;
  return { text, target, source, score, weights: [...found.weights] };
}));
"""
TOKENISE = """
const codec = new Codec(given.codec);
return given.texts.map((text) => [codec.read(text).ids, codec.write(codec.read(text).ids)]);
"""
HARD = [
    "", "  ", "a", "  Two  spaces. ", "don't o'clock it's the dogs' house", "« Ça va ? » — non !",
    "l'été, est-ce que…", "naïve ﬁancé ÀÉ ǅ Ⅷ ½ x_1 3.5%", "ΟΔΟΣ İstanbul ẞ ß", "我喜欢 喝茶。",
    "أحب الشاي", "e\N{COMBINING ACUTE ACCENT}t", "🙂 👨‍👩‍👧 \N{NO-BREAK SPACE}x\x1cy\x85z",
    "<unk> <pad> <eos> <0x41>", "\N{LOWER ONE EIGHTH BLOCK}mark", "oooooooo zzzzzz",
    "<br /> \"quoted\"; and: (so) [on] {it} goes!",
]  # fmt: skip


@pytest.fixture(scope="module")
def pairs(grammar):
    return grammar.sample(60, 1, "train")


@pytest.fixture(scope="module")
def model_of(pairs, tmp_path_factory):
    """Makes a model folder of a description and kind of tokens, with weights that matter."""
    made = {}

    def make(tokenizer="word", **changes):
        key = json.dumps([tokenizer, changes])
        if key not in made:
            folder = tmp_path_factory.mktemp("model")
            size = {} if tokenizer == "word" else {"max_size": 340}
            joint = changes.get("tying") == "all"
            codecs = codecs_of(pairs, folder, tokenizer=tokenizer, joint=joint, **size)
            sizes = [len(codec.vocabulary) for codec in codecs]
            spec = spec_of(
                source_vocabulary_size=sizes[0], target_vocabulary_size=sizes[1], **changes
            )
            torch.manual_seed(3)
            model = build_seq2seq(spec)
            for parameter in model.parameters():
                parameter.data.mul_(2)
            bounds = LengthBounds(max_factor=0.5, max_extra=4)
            save_model_folder(folder / "model", TranslationModel(spec, model, *codecs, bounds))
            made[key] = folder / "model"
        return made[key]

    return make


@pytest.mark.parametrize("variant", [*COMPUTED, "average", "unigram", "bpe"])
def test_the_page_translates_as_the_rounded_model(variant, model_of, pairs):
    changes = VARIANTS.get(variant, {"score": "average"} if variant == "average" else {})
    folder = model_of(variant if variant in ("unigram", "bpe") else "word", **changes)
    sentences = [pair.source for pair in pairs[:2]] + ["An unknown zebra, naïve 🙂!"]
    model = data_of(export_page(folder, ""))["model"]
    found = in_node(TRANSLATE, model=model, sentences=sentences, searches=SEARCHES)
    translator = rounded(folder)
    for place, options in enumerate(SEARCHES):
        search = search_from_options(**options)
        for of_sentence, expected in zip(
            found, translator.translate(sentences, search=search), strict=True
        ):
            assert_same(of_sentence[place], expected)


@pytest.mark.parametrize("variant", REFUSED)
def test_what_the_page_does_not_compute_is_refused_by_name(variant, model_of):
    folder = model_of(**VARIANTS.get(variant, OTHERS.get(variant)))
    with pytest.raises(InputError, match=re.escape(f"a page computes {REFUSED[variant]}")):
        export_page(folder, "")


def assert_tokens_alike(codec, texts):
    from seq2seq.tensorboard.translating_page import _codec  # noqa: PLC0415

    found = in_node(TOKENISE, codec=_codec(codec), texts=texts)
    for text, (ids, written) in zip(texts, found, strict=True):
        assert ids == codec.encode(text), text
        assert written == codec.decode(ids), text


@pytest.mark.parametrize(
    ("name", "lowercase"),
    [("word", False), ("word", True), ("basic_english", True), ("character", False),
     ("whitespace", False), ("unigram", False), ("unigram", True), ("bpe", False)],
)  # fmt: skip
def test_text_becomes_the_same_tokens_and_text_again(name, lowercase, pairs, tmp_path):
    size = {"max_size": 420} if name in ("unigram", "bpe") else {}
    languages = ("en", "en" if name == "basic_english" else "fr")
    written = [*pairs, *(SentencePair(text, text) for text in HARD[2:8])]
    codecs = codecs_of(
        written,
        tmp_path,
        languages,
        tokenizer=name,
        lowercase=lowercase,
        restore_case=lowercase,
        **size,
    )
    for codec, side in zip(codecs, ("source", "target"), strict=True):
        assert_tokens_alike(codec, [*HARD, *(getattr(pair, side) for pair in pairs[:20])])


def test_bytes_that_are_no_text_are_written_alike(pairs, tmp_path):
    codec = codecs_of(pairs, tmp_path, tokenizer="unigram", max_size=420)[1]
    generator = np.random.default_rng(1)
    rows = [generator.integers(0, 300, 12).tolist() for _ in range(60)]
    rows += [codec.encode("▁▁a") + codec.encode("€🙂")[:3], *([each] for each in range(300))]
    from seq2seq.tensorboard.translating_page import _codec  # noqa: PLC0415

    body = "const codec = new Codec(given.codec); return given.rows.map((row) => codec.write(row));"
    found = in_node(body, codec=_codec(codec), rows=rows)
    assert found == [codec.decode(row) for row in rows]


@pytest.mark.parametrize("name", ["unigram", "bpe", "word"])
def test_multi30k_becomes_the_same_tokens(name, real_data, tmp_path):
    lines = {}
    for side in ("de", "en"):
        with gzip.open(real_data / "multi30k" / f"train.{side}.gz", "rt", encoding="utf-8") as file:
            lines[side] = file.read().splitlines()[:3000]
    pairs = [SentencePair(*pair) for pair in zip(lines["de"], lines["en"], strict=True)]
    size = {} if name == "word" else {"max_size": 2000}
    codecs = codecs_of(
        pairs[:2000],
        tmp_path,
        ("de", "en"),
        tokenizer=name,
        lowercase=True,
        restore_case=True,
        **size,
    )
    for codec, side in zip(codecs, ("de", "en"), strict=True):
        assert_tokens_alike(codec, lines[side][-1000:])


def test_the_page_is_small_and_asks_nobody(model_of):
    folder = model_of(
        embedding_size=64, encoder_hidden_size=64, decoder_hidden_size=128, attention_size=64
    )
    page = export_page(folder, "</script><script>alert(1)</script>")
    num_weights = sum(
        parameter.numel() for parameter in load_model_folder(folder).model.parameters()
    )
    assert len(page.encode()) <= 1.45 * num_weights + 400_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert page.count("<script") == page.count("</script>") == 2


@pytest.fixture(scope="module")
def trained_default(tmp_path_factory):
    """The folder of a run of the default experiment."""
    folder = tmp_path_factory.mktemp("runs")
    done = program(
        "train.py", f"runs_dir={folder}", "device=cpu", "trainer.max_epochs=3", "name=run"
    )
    assert done.returncode == 0, done.stderr
    return folder / "baseline" / "run"


@pytest.mark.long
def test_a_thousand_sentences_of_the_default_model(trained_default, grammar):
    sentences = [pair.source for pair in grammar.sample(1000, 1, "test")]
    model = data_of(export_page(trained_default, ""))["model"]
    translator = rounded(trained_default)
    for options, least in (({"beam": 1}, 1000), ({"beam": 5, "length_penalty": "average"}, 995)):
        found = in_node(TRANSLATE, model=model, sentences=sentences, searches=[options])
        expected = translator.translate(sentences, search=search_from_options(**options))
        same = [
            each["target"] == list(other.target_tokens)
            for [each], other in zip(found, expected, strict=True)
        ]
        assert sum(same) >= least
