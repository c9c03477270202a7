"""The page on random descriptions of models: it translates as the rounded model in float64, or refuses by name."""

import random

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.batching import BatchSize
from seq2seq.data.vocabulary import END_ID
from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.translator import Translator
from seq2seq.export import translating_page
from seq2seq.export.translating_page import page_model
from seq2seq.models import folder as model_folder
from seq2seq.models.folder import SavedModel, load_model_folder, save_model_folder
from seq2seq.models.limits import LengthLimits
from tests.export.test_translating_page import TRANSLATE
from tests.export.translating import in_node, matrix_of
from tests.small import ALIGNMENTS, DECODERS, SCORES, built_in_pairs, model_of, tokenizers_of

EACH = f"""
return given.models.map(({{ model, sentences, searches }}) => {{
  const translate = (given) => {{ {TRANSLATE} }};
  return translate({{ model, sentences, searches }});
}});
"""
ABREAST = 25
"""Models in one process of node."""


def description(draw):
    """A description of a model for `tests.small.model_of`; about half of them are not computed by a page."""
    odd = draw.random() < 0.4  # something that the page does not compute, or is rare
    size, encoder_size, layers = draw.choice([3, 4, 6, 8]), draw.choice([2, 3, 4]), draw.randint(1, 3)
    bidirectional = draw.random() < 0.6
    tie = draw.choice(["none", "none", "output", "all"])
    found = {
        "embedding_size": draw.choice([2, 5, 6]), "encoder_hidden_size": encoder_size, "decoder_hidden_size": size,
        "num_layers": layers, "encoder_layers": draw.randint(1, 3), "bidirectional": bidirectional, "tie": tie,
        "initial_state": draw.choice(["linear", "zeros"]), "dropout": draw.choice([0.0, 0.5]),
        "attention_size": draw.choice([1, 5]),
        "attention_dropout": draw.choice([0.0, 0.5]), "score": draw.choice([*SCORES]),
        "query_with_embedding": draw.random() < 0.4, "seed": draw.randrange(2**31),
    }  # fmt: skip
    found["readout_size"] = found["embedding_size"] if tie != "none" else draw.choice([None, 1, 5])
    if found["encoder_layers"] * (1 + bidirectional) * encoder_size == layers * size:
        found["initial_state"] = "copy"
    if odd:
        rare = {
            "decoder": [*DECODERS], "cell": ["gru", "lstm"], "encoder_cell": ["gru", "lstm"], "heads": [1, 2],
            "normalizer": ["softmax", "sparsemax"], "alignment": [None, *ALIGNMENTS], "reverse_source": [False, True],
        }  # fmt: skip
        for name in draw.sample([*rare], 2):
            found[name] = draw.choice(rare[name])
    if "lstm" in (found.get("cell"), found.get("encoder_cell")) and found["initial_state"] == "copy":
        found["initial_state"] = "linear"
    return found


@pytest.fixture(scope="module")
def codecs():
    pairs = built_in_pairs(40)
    kinds = {"word": {}, "character": {}, "unigram": {"vocab_size": 340}, "bpe": {"vocab_size": 340}}
    return {
        (kind, joint): tokenizers_of(pairs, tokenizer=kind, joint=joint, **size)
        for kind, size in kinds.items()
        for joint in (False, True)
    }


def case_of(seed, codecs, folder):
    """Return what a page holds, sentences, searches and the translations of the program; or why it is refused."""
    draw = random.Random(seed)
    described = description(draw)
    tokenizers = codecs[draw.choice(["word", "character", "unigram", "bpe"]), described["tie"] == "all"]
    sizes = [each.vocab_size for each in tokenizers]
    model = model_of(source_vocab_size=sizes[0], target_vocab_size=sizes[1], **described).float()
    for parameter in model.parameters():
        parameter.data.mul_(draw.choice([1.5, 3]))
    model.decoder.output.bias.data[END_ID] += draw.choice([0, 1, 3])
    limits = LengthLimits(
        min_ratio=draw.choice([0, 0.35]), max_ratio=draw.choice([0.5, 1.05]), max_extra=draw.randint(0, 3)
    )
    save_model_folder(folder, SavedModel(model, *tokenizers, limits))
    try:
        held = page_model(folder)
    except InputError as error:
        if "a page computes" not in str(error):
            raise AssertionError(f"{seed}: {described}") from error
        return None
    searches = [
        {"beam_size": draw.choice([2, 4]), "length_penalty": draw.choice(["average", "none", "gnmt"])}
    ]
    searches.append({"beam_size": 1})
    words = ["I", "see", "the", "red", "cat", "and", "a", "zebra", ".", "don't", "they", "sleep", "?"]
    sentences = [" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(3)]
    saved = load_model_folder(folder)
    for name, parameter in saved.model.named_parameters():
        matrix = matrix_of(held["parameters"][name])
        if matrix is not None:
            parameter.data = torch.from_numpy(matrix)
    saved.model.double()
    translator = Translator(
        saved, device=torch.device("cpu"), batch_size=BatchSize(sentences=None, tokens=4096)
    )
    expected = [translator.translate(sentences, search=search_from_options(**each)) for each in searches]
    options = [{"length_penalty": "none", "length_penalty_alpha": 0.6} | each for each in searches]
    return {"model": held, "sentences": sentences, "searches": options}, expected


def assert_pages_translate(seeds, codecs, folder):
    """Return how many models were computed, and how many refused."""
    cases = {seed: case_of(seed, codecs, folder / str(seed)) for seed in seeds}
    computed = {seed: case for seed, case in cases.items() if case is not None}
    found = in_node(EACH, models=[given for given, _ in computed.values()])
    for (seed, (_, expected)), of_model in zip(computed.items(), found, strict=True):
        for place, translations in enumerate(expected):
            for of_sentence, translation in zip(of_model, translations, strict=True):
                of_page = of_sentence[place]
                assert of_page["target"] == list(translation.target_tokens), seed
                assert of_page["text"] == translation.text, seed
                assert of_page["score"] == pytest.approx(translation.score, abs=1e-9, rel=1e-9), seed
                weights = np.reshape(of_page["weights"], translation.weights.shape)
                np.testing.assert_allclose(weights, translation.weights, atol=1e-9, err_msg=str(seed))
    return len(computed), len(cases) - len(computed)


@pytest.fixture(autouse=True)
def unproved_folders(monkeypatch):
    """Leave out the proof of a model folder, which is tested in tests/export."""
    monkeypatch.setattr(model_folder, "prove", lambda *_: None)


def test_a_few_random_models(codecs, tmp_path):
    computed, refused = assert_pages_translate(range(1, 9), codecs, tmp_path)
    assert computed > 2
    assert refused > 2


@pytest.mark.long
def test_a_thousand_random_models(codecs, tmp_path, monkeypatch):
    monkeypatch.setattr(translating_page, "prove", lambda *_: None)  # translations are compared instead
    counts = [
        assert_pages_translate(range(start, start + ABREAST), codecs, tmp_path)
        for start in range(1000, 2000, ABREAST)
    ]
    computed, refused = np.sum(counts, axis=0)
    print(f"{computed} computed, {refused} refused")
    assert computed > 400
