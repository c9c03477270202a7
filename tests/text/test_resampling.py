import numpy as np
import pytest

from seq2seq.errors import InputError
from seq2seq.text.codec import CodecSettings, train_codecs
from seq2seq.text.corpus import SentencePair
from seq2seq.text.loader import BatchLoader
from seq2seq.text.resampling import Resampling
from seq2seq.text.store import encode_split

WORDS = ["haus", "hausboot", "boot", "bootsmann", "mann", "laufen", "verlaufen", "kaufen"]
TEXTS = [" ".join(WORDS[(i * 7 + j * 3) % 8] for j in range(6)) for i in range(60)]
PAIRS = [SentencePair(text, text[::-1]) for text in TEXTS]


@pytest.fixture(params=["unigram", "bpe"])
def codecs(request, tmp_path):
    settings = CodecSettings(
        request.param,
        request.param,
        lowercase=False,
        joint=False,
        min_frequency=1,
        max_size=330,
    )
    targets = [pair.target for pair in PAIRS]
    return train_codecs(
        settings, sources=TEXTS, targets=targets, languages=("de", "xx"), folder=tmp_path
    )


def encoded(codecs):
    return encode_split(
        PAIRS, source_codec=codecs[0], target_codec=codecs[1], max_length=None, truncate=False
    )


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


def test_words_cannot_be_sampled(tmp_path):
    settings = CodecSettings(
        "word", "word", lowercase=False, joint=False, min_frequency=1, max_size=None
    )
    codec, _ = train_codecs(
        settings, sources=TEXTS, targets=TEXTS, languages=("de", "de"), folder=tmp_path
    )
    with pytest.raises(InputError, match="needs subwords"):
        codec.sample("haus", 0.1, 1)
