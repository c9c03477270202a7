import subprocess
import sys

import numpy as np
import pytest

from seq2seq.errors import InputError
from seq2seq.text.corpus import SentencePair
from seq2seq.text.loader import BatchLoader
from seq2seq.text.resampling import Resampling
from seq2seq.text.store import encode_split
from tests.tiny import codecs_of

WORDS = ["haus", "hausboot", "boot", "bootsmann", "mann", "laufen", "verlaufen", "kaufen"]
TEXTS = [" ".join(WORDS[(i * 7 + j * 3) % 8] for j in range(6)) for i in range(60)]
PAIRS = [SentencePair(text, text[::-1]) for text in TEXTS]
LANGUAGES = ("de", "xx")


@pytest.fixture
def codecs(tmp_path):
    return codecs_of(PAIRS, tmp_path, LANGUAGES, tokenizer="unigram", max_size=330)


def encoded(codecs):
    return encode_split(PAIRS, codecs, max_length=None, truncate=False)


def ids_of(sentences):
    return [sentences[index].tolist() for index in range(len(sentences))]


def resampling(codecs, **changes):
    return Resampling(*codecs, **{"alpha": 0.1, "seed": 3, "max_length": None, **changes})


def test_every_epoch_splits_otherwise_and_the_text_stays(codecs):
    usual = encoded(codecs)
    epochs = [resampling(codecs).split(usual, epoch) for epoch in range(2)]
    for split in epochs:
        for index, pair in enumerate(PAIRS):
            assert codecs[0].decode(split.source[index].tolist()) == pair.source
            assert codecs[1].decode(split.target[index].tolist()) == pair.target
    drawn = [ids_of(split.source) for split in (usual, *epochs)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


def test_the_split_is_a_function_of_seed_and_epoch(codecs):
    usual = encoded(codecs)
    first = resampling(codecs).split(usual, 1)
    codecs[0].sample("anything in between", 0.5, 9)
    again = resampling(codecs).split(usual, 1)
    assert ids_of(first.source) == ids_of(again.source)
    assert ids_of(first.target) == ids_of(again.target)
    other = resampling(codecs, seed=4).split(usual, 1)
    assert ids_of(other.source) != ids_of(first.source)


DRAW = """
import sys
from pathlib import Path
from seq2seq.text.tokenizers import SubwordTokenizer
tokenizer = SubwordTokenizer(Path(sys.argv[1]), language="de", lowercase=False)
print(*(tokenizer.sampled_tokens("hausboot bootsmann verlaufen", 0.1, seed) for seed in range(9)))
"""


def test_another_process_draws_the_same(codecs, tmp_path):
    (model,) = tmp_path.glob("source*.model")
    command = [sys.executable, "-c", DRAW, str(model)]
    found = subprocess.check_output(command)
    tokenizer = codecs[0].tokenizer
    drawn = [
        tokenizer.sampled_tokens("hausboot bootsmann verlaufen", 0.1, seed) for seed in range(9)
    ]
    assert found.decode() == " ".join(map(str, drawn)) + "\n"
    assert len({str(tokens) for tokens in drawn}) > 1


def test_ways_are_drawn_by_their_probability(codecs):
    tokenizer = codecs[0].tokenizer
    found = tokenizer.model.nbest_encode("hausboot", nbest_size=64, return_type="proto").nbests
    weights = np.exp([0.3 * (way.score - found[0].score) for way in found])
    expected = weights[0] / weights.sum()
    usual = tokenizer.tokens("hausboot")
    hits = [tokenizer.sampled_tokens("hausboot", 0.3, seed) == usual for seed in range(4000)]
    assert np.mean(hits) == pytest.approx(expected, abs=0.03)


def test_sentences_that_would_be_too_long_keep_their_usual_tokens(codecs):
    usual = encoded(codecs)
    bound = int(usual.source.lengths.max())
    split = resampling(codecs, max_length=bound).split(usual, 0)
    assert split.source.lengths.max() <= bound
    free = resampling(codecs).split(usual, 0)
    assert free.source.lengths.max() > bound
    long = int(free.source.lengths.argmax())
    assert np.array_equal(split.source[long], usual.source[long])


def test_a_loader_gives_the_sentences_of_its_epoch(codecs):
    usual, drawn = encoded(codecs), resampling(codecs)
    loader = BatchLoader(usual, lambda _: [np.arange(60)], lambda: 2, drawn)
    (batch,) = loader
    expected = drawn.split(usual, 2).source
    for row, length, index in zip(batch.source.ids, batch.source.lengths, range(60), strict=True):
        assert row[: length - 1].tolist() == expected[index].tolist()


@pytest.mark.parametrize("name", ["word", "bpe"])
def test_only_pieces_with_probabilities_can_be_sampled(name, tmp_path):
    codec, _ = codecs_of(PAIRS, tmp_path, LANGUAGES, tokenizer=name, max_size=330)
    with pytest.raises(InputError, match=r"data\.tokenizer\.sampling needs"):
        codec.sample(TEXTS[0], 0.1, 1)
