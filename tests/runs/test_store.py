import pytest

from seq2seq.errors import InputError
from seq2seq.runs.corpus_check import check_corpus
from seq2seq.runs.making import store as build_store
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.text import encode_corpus
from tests.stores import pairs_of, write_shards

PAIRS = pairs_of(400)
SUBWORDS = ["data.tokenizer.name=unigram", "data.tokenizer.max_size=400"]
FILES = ["data.train.source='{0}/*.source'", "data.train.target='{0}/*.target'"]


@pytest.fixture
def large(configured, tmp_path, monkeypatch):
    """Overrides -> the configuration of a corpus of two shards that goes through the store."""
    monkeypatch.setattr(build_store, "num_cores", lambda: 1)
    text = tmp_path / "text"
    write_shards(text, PAIRS)
    return lambda *overrides: configured(
        "data=parallel",
        *(each.format(text) for each in FILES),
        "data.source_language=en",
        "data.target_language=fr",
        "data.tokenizer.name=word",
        "data.tokenizer.max_size=null",
        "data.tokenizer.joint=false",
        f"data.store={tmp_path}/store",
        "data.store_from=0",
        *overrides,
    )


def encoded(config, folder):
    return encode_corpus(config, build_corpus(config.data), None, folder)


def files_of(text):
    return [f"data.validation.{side}={text}/0.{side}" for side in ("source", "target")]


def test_a_corpus_through_the_store_is_the_one_held_in_memory(large, tmp_path):
    overrides = [*files_of(tmp_path / "text"), "data.tokenizer.sampling=0.1", *SUBWORDS]
    stored = encoded(large(*overrides), tmp_path / "stored")
    held = encoded(large(*overrides, "data.store_from=50"), tmp_path / "held")
    assert (tmp_path / "store").is_dir()
    for side in ("source", "target"):
        for split in ("train", "validation"):
            found, expected = (getattr(getattr(each, split), side) for each in (stored, held))
            ids = [[each[i].tolist() for i in range(len(each))] for each in (found, expected)]
            assert ids[0] == ids[1]
        names = [tmp_path / each / f"{side}.json" for each in ("stored", "held")]
        assert names[0].read_bytes() == names[1].read_bytes()
    assert list(stored.train.pairs) == list(held.train.pairs)


def test_runs_with_other_seeds_share_a_store_and_its_held_out_pairs(large, tmp_path, capsys):
    splits = [
        encoded(large("data.validation.fraction=0.2", f"seed={seed}"), tmp_path / f"{seed}")
        for seed in (1, 2)
    ]
    assert capsys.readouterr().err.count("into") == 1
    assert len(list((tmp_path / "store").iterdir())) == 1
    first, second = (list(each.validation.pairs) for each in splits)
    assert first == second
    assert len(first) + len(splits[0].train) == sum(
        bool(pair.source.strip() and pair.target.strip()) for pair in PAIRS
    )


def test_a_limited_corpus_is_held_in_memory(large, tmp_path):
    config = large("data.validation.fraction=0.2", "data.limit=30")
    corpus = build_corpus(config.data)
    assert not corpus.large
    assert len(corpus.train) == 30
    assert set(corpus.train) <= set(PAIRS[:60])


def test_the_corpus_check_looks_at_a_sample(large, tmp_path, capsys):
    config = large(*files_of(tmp_path / "text"))
    printed = check_corpus(config, build_corpus(config.data))
    assert "of 400 training pairs 400, evenly spread" in capsys.readouterr().out
    assert "train" in printed
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.validation.fraction=0.2", "data.overfit=true"], "data.limit"),
        (["data.validation.fraction=0.2", "data.test.source=x"], "data.test.target is needed"),
        ([], "data.validation needs either"),
        (["data.validation.fraction=1e-6"], "no validation pair"),
    ],
)
def test_what_does_not_go_together_is_refused(large, tmp_path, overrides, message):
    with pytest.raises(InputError, match=message):
        encoded(large(*overrides), tmp_path / "tokenizer")


def test_a_missing_shard_is_refused_before_anything_is_built(large, tmp_path):
    config = large("data.validation.fraction=0.2")
    missing = tmp_path / "text" / "1.target"
    config.data.train.target = str(missing)
    config.data.train.source = str(tmp_path / "text" / "1.source")
    missing.unlink()
    with pytest.raises(InputError, match="does not exist"):
        build_corpus(config.data)
