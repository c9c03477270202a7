"""`data.both_directions`: every training pair, and every one the other way round."""

import pytest

from seq2seq.errors import InputError
from seq2seq.runs.making.by_size import sized
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.text import encode_corpus, turned
from seq2seq.text.corpus import SentencePair

PAIRS = [("An Ant sees Bob .", "Bob wird gesehen ."), ("Bob", "Bob"), ("Go !", "Los jetzt !")]
CASED = ["data.tokenizer.lowercase=true", "data.tokenizer.restore_case=true"]


@pytest.fixture
def chosen(configured, tmp_path):
    """Overrides -> the configuration of three pairs in files."""
    for column, language in enumerate(("en", "de")):
        lines = "".join(f"{pair[column]}\n" for pair in PAIRS)
        (tmp_path / f"a.{language}").write_text(lines)
    files = [
        f"data.{split}.{side}={tmp_path}/a.{language}"
        for split in ("train", "validation", "test")
        for side, language in (("source", "en"), ("target", "de"))
    ]
    return lambda *overrides: configured(
        "data=parallel", "data.source_language=en", "data.target_language=de", *files,
        "data.tokenizer.name=whitespace", "data.tokenizer.max_size=null", *overrides,
    )  # fmt: skip


@pytest.fixture
def encoded(chosen, tmp_path):
    """Both directions or not -> the encoded corpus, and the folder of its codecs."""

    def encode(both):
        config, folder = chosen(*CASED, f"data.both_directions={both}"), tmp_path / both
        return encode_corpus(config, build_corpus(config.data), None, folder), folder

    return encode


def ids(sentences):
    return [sentences[index].tolist() for index in range(len(sentences))]


def test_training_reads_every_pair_and_then_every_pair_the_other_way_round(encoded):
    (both, _), (one, _) = encoded("true"), encoded("false")
    assert ids(both.train.source) == ids(one.train.source) + ids(one.train.target)
    assert ids(both.train.target) == ids(one.train.target) + ids(one.train.source)
    texts = [(pair.source, pair.target) for pair in both.train.pairs]
    assert texts == PAIRS + [(target, source) for source, target in PAIRS]


def test_vocabulary_casing_and_what_is_scored_are_of_the_one_direction(encoded):
    (both, folder), (one, other) = encoded("true"), encoded("false")
    for side in ("source", "target"):
        assert (folder / f"{side}.json").read_bytes() == (other / f"{side}.json").read_bytes()
    assert one.target_codec.decode(one.target_codec.encode("Jetzt Ant")) == "Jetzt ant"
    assert (both.validation.pairs, both.test) == (one.validation.pairs, one.test)


def test_links_turn_with_their_pair():
    pair = SentencePair("a b", "c d", ((0, 1), (1, 0), (1, 1)), ((0, 1),))
    back = turned(pair)
    assert back == SentencePair("c d", "a b", ((0, 1), (1, 0), (1, 1)), ((1, 0),))
    assert turned(back) == pair
    assert turned(SentencePair("a", "b")) == SentencePair("b", "a")


def test_what_follows_the_size_counts_both(configured):
    real = ["data=tatoeba", "recipe=standard", "data.file=f"]
    one, both = (
        sized(configured(*real, f"data.both_directions={both}"), 29_000)
        for both in ("false", "true")
    )
    assert both.model.dropout == sized(configured(*real), 58_000).model.dropout
    assert both.model.dropout < one.model.dropout
    assert both.data.tokenizer.max_size == one.data.tokenizer.max_size == 8_000


def test_two_vocabularies_and_corpora_of_the_store_are_refused(chosen):
    with pytest.raises(InputError, match=r"both_directions=true does not go with .*joint=false"):
        chosen("data.both_directions=true", "data.tokenizer.joint=false")
    large = chosen("data.both_directions=true", "data.store_from=0")
    with pytest.raises(InputError, match=r"memory holds: raise data\.store_from"):
        build_corpus(large.data)
