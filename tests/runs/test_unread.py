import sys
from dataclasses import fields, is_dataclass

import pytest

from seq2seq.config import Config, SweepConfig
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.model import KEYS
from seq2seq.runs.run import run
from seq2seq.runs.run_folder import run_folder
from seq2seq.runs.start import refuse_sweep


def schemas_of(config):
    yield config
    for described in fields(config):
        value = getattr(config, described.name)
        if is_dataclass(value):
            yield from schemas_of(value)


@pytest.fixture
def reads(monkeypatch):
    """Watches which fields of a configuration are read."""
    seen = set()

    def watch(config):
        for schema in {type(section) for section in schemas_of(config)}:

            def recording(self, name, schema=schema):
                reader = sys._getframe(1).f_globals["__name__"]
                if reader.startswith(("seq2seq.runs", "seq2seq.sweeps")):
                    seen.add((schema, name))
                return object.__getattribute__(self, name)

            monkeypatch.setattr(schema, "__getattribute__", recording)
        return seen

    return watch


def unread(config, seen):
    return {
        f"{type(section).__name__}.{described.name}"
        for section in schemas_of(config)
        for described in fields(section)
        if (type(section), described.name) not in seen
    }


def test_a_run_reads_every_field_of_its_configuration(tiny, tmp_path, reads):
    config = tiny("trainer.max_steps=2", "device.threads=1", "optim.averaging=ema")
    seen = reads(config)
    run(config, tmp_path / "run")
    run_folder(config, [])
    refuse_sweep(config)
    for section, name in (key.split(".") for key in KEYS.values()):
        seen |= {(Config, section), (type(getattr(config, section)), name)}
    seen |= {(SweepConfig, described.name) for described in fields(SweepConfig)}
    assert not unread(config, seen)


@pytest.mark.parametrize("data", ["parallel", "multi30k", "tatoeba", "hf"])
def test_every_corpus_reads_every_field_of_its_own(configured, tmp_path, reads, monkeypatch, data):
    for name in ("pairs", "a", "b", "c"):
        (tmp_path / name).write_text("one\tun\ntwo\tdeux\nthree\ttrois\n")
    for split in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("a\nb\n")
    overrides = {
        "parallel": [
            "data.source_language=en",
            "data.target_language=fr",
            f"data.train.source={tmp_path}/a",
            f"data.train.target={tmp_path}/b",
            "data.validation.fraction=0.3",
        ],
        "multi30k": [f"data.root={tmp_path}"],
        "tatoeba": [
            f"data.file={tmp_path}/pairs",
            "data.validation_pairs=1",
            "data.test_pairs=1",
            "data.in_order=true",
            "data.train_pairs=1",
        ],
        "hf": [
            f"data.dataset={tmp_path}/hub",
            "data.source_language=en",
            "data.target_language=fr",
            "data.test_split=null",
            "data.validation_split=null",
            "data.validation_fraction=0.4",
        ],
    }[data]
    if data == "hf":
        pytest.importorskip("datasets", reason="needs the extra hf")
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
        (tmp_path / "hub").mkdir()
        rows = '{"translation": {"en": "a", "fr": "b"}}\n{"translation": {"en": "c", "fr": "d"}}\n'
        (tmp_path / "hub" / "train.jsonl").write_text(rows)
    if data == "multi30k":
        (tmp_path / "val.en").unlink()
        monkeypatch.setattr(
            "seq2seq.runs.making.corpora.multi30k.download_multi30k",
            lambda *_: (tmp_path / "val.en").write_text("a\nb\n"),
        )
    config = configured(f"data={data}", *overrides)
    seen = reads(config)
    build_corpus(config.data)
    if data == "tatoeba":  # what is held out in the order of the file needs no seed
        config.data.in_order = False
        build_corpus(config.data)
    own = {name for name in unread(config, seen) if name.startswith(type(config.data).__name__)}
    # these belong to every corpus, and the run above reads them
    shared = {"source_language", "target_language", "tokenizer", "max_length", "truncate"}
    shared |= {"store", "reverse_source"}  # for large corpora, see test_store.py; by the model
    shared |= {"both_directions"}  # by what encodes
    assert {name.partition(".")[2] for name in own} <= shared


def test_a_field_that_nothing_reads_is_found(tiny, reads):
    config = tiny()
    assert f"{Config.__name__}.seed" in unread(config, reads(config))
