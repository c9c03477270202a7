import json
import random
import shutil

import pytest
from msgspec.structs import replace

from seq2seq.errors import InputError
from seq2seq.experiments.ledger import read_ledger, write_ledger
from seq2seq.runs.preparation import prepare
from seq2seq.runs.rerun import rerun
from seq2seq.runs.run import build_corpus, run
from seq2seq.runs.seen_text import seen_digests, warn_of_seen
from seq2seq.runs.training_run import shown_metrics
from seq2seq.sweeps.comparison import compare_runs
from seq2seq.text.corpus import SentencePair
from seq2seq.training.process_group import ALONE
from tests.tiny import SMALL_MODEL

WORDS = ["the", "red", "cat", "sees", "a", "dog", "and", "they", "do", "not", "like", "it"]
TINY = [
    *SMALL_MODEL,
    "data.tokenizer.name=word",
    "data.tokenizer.joint=false",
    "data.tokenizer.max_size=null",
    "trainer.max_epochs=1",
    "tensorboard.heatmaps=0",
    "decoding.beam=1",
]
PAYS = "seq2seq.runs.making.device.bfloat16_pays"


def random_sentences(count):
    generator = random.Random(1)
    return sorted({" ".join(generator.choices(WORDS, k=6)) for _ in range(count)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a file of pairs, and of the runs that several tests look at."""
    folder = tmp_path_factory.mktemp("drawn")
    pairs = (f"{source}\t{source[::-1]}\n" for source in random_sentences(120))
    (folder / "pairs").write_text("".join(pairs))
    return folder


@pytest.fixture
def drawn(configured, folder):
    """Overrides -> a tiny run whose held-out splits are drawn; a probe chooses the precision."""
    data = [f"data.file={folder}/pairs", "data.validation_pairs=15", "data.test_pairs=20"]
    return lambda *more: configured("data=tatoeba", *data, *TINY, "device.precision=auto", *more)


@pytest.fixture
def finished(drawn, folder, monkeypatch):
    """Name of a run -> its folder; each is trained once."""
    overrides = {"one": "seed=1", "two": "seed=2", "other": "data.split_seed=2"}

    def finish(name):
        monkeypatch.setattr(PAYS, lambda *_: False)
        if not (folder / name).exists():
            run(drawn(overrides[name]), folder / name)
        return folder / name

    return finish


@pytest.fixture
def prepared(tmp_path):
    """Prepares a run: what is to be refused is refused there."""
    return lambda config: prepare(config, build_corpus(config.data), tmp_path / "new", ALONE)


def sources_of(run_dir, split="test"):
    lines = (run_dir / "translations" / f"{split}.jsonl").read_text().splitlines()
    return [json.loads(line)["source"] for line in lines]


def test_seed_leaves_the_splits_alone_and_the_record_says_so(finished):
    one, two, other = (read_ledger(finished(name)).texts for name in ("one", "two", "other"))
    assert one.keys() == {"validation", "test"}
    assert one == two
    assert sources_of(finished("one")) == sources_of(finished("two"))
    assert all(one[split] != other[split] for split in one)


def test_a_start_that_was_trained_on_what_is_held_out_is_refused(
    finished, drawn, prepared, tmp_path, capsys
):
    start = finished("one")
    prepared(drawn("seed=2", f"init_from={start}"))
    leaking = ["data.split_seed=2", f"init_from={start}"]
    with pytest.raises(InputError, match=r"was trained on \d+ validation and \d+ test pairs of"):
        prepared(drawn(*leaking))
    with pytest.raises(InputError, match="set allow_overlap=true"):
        prepared(drawn("data.split_seed=2", f"init_from={start}/model"))
    run(drawn(*leaking, "allow_overlap=true"), tmp_path / "allowed")
    # its own training text is that of split 2 alone, but it began with that of split 1
    with pytest.raises(InputError, match="was trained on"):
        prepared(drawn("data.split_seed=2", f"init_from={tmp_path}/allowed"))
    shutil.copytree(start / "model", tmp_path / "moved" / "model")
    prepared(drawn("data.split_seed=2", f"init_from={tmp_path}/moved"))
    assert f"WARNING: init_from={tmp_path}/moved does not say" in capsys.readouterr().out


def test_scoring_on_training_sentences_is_warned_of(finished, folder, tmp_path):
    start = finished("one")
    tested = [SentencePair(source, "") for source in sources_of(start)]
    assert warn_of_seen([start], tested) == []
    pairs = [SentencePair(f"{source.upper()}!", "") for source in random_sentences(120)]
    held_out = len(tested) + len(sources_of(start, "validation"))
    (line,) = warn_of_seen([start, tmp_path / "absent"], pairs)
    assert f"on {len(pairs) - held_out} of the {len(pairs)} source sentences" in line
    assert len(warn_of_seen([start, finished("two")], pairs)) == 2


def test_what_files_share_is_counted_and_no_reason_to_refuse(configured, tmp_path, capsys):
    train = random_sentences(60)
    held_out = [f"{train[0].upper()}!", "a sentence of its own", "another"]
    for name, lines in {"train": train, "held_out": held_out}.items():
        for side in ("source", "target"):
            (tmp_path / f"{name}.{side}").write_text("\n".join(lines) + "\n")
    files = {"train": "train", "validation": "held_out", "test": "held_out"}
    overrides = [
        f"data.{split}.{side}={tmp_path}/{name}.{side}"
        for split, name in files.items()
        for side in ("source", "target")
    ]
    overrides += ["data=parallel", "data.source_language=en", "data.target_language=fr", *TINY]
    run(configured(*overrides), tmp_path / "run")
    assert "overlap     1 validation, 1 test pairs have" in capsys.readouterr().out
    config = configured(*overrides, f"init_from={tmp_path}/run")
    prepare(config, build_corpus(config.data), tmp_path / "on", ALONE)


def test_damaged_digests_are_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "seen.digests").write_bytes(b"no digests")
    with pytest.raises(InputError, match=r"seen\.digests is damaged"):
        seen_digests(tmp_path)


def copies(finished, runs, names, **changes):
    """Runs in a folder of their own, with changed records."""
    for name in names:
        shutil.copytree(finished(name), runs / name)
        ledger = replace(read_ledger(runs / name), **{k: v[name] for k, v in changes.items()})
        if ledger.config["data"].pop("split_seed") != 1:
            ledger.config["seed"] = 3
        write_ledger(runs / name, ledger)


def test_runs_with_other_test_sentences_are_never_pooled(finished, tmp_path):
    names = ("one", "two", "other")
    # as runs of earlier versions are: seed decided what is held out, and nothing was recorded
    changes = {"texts": {name: {} for name in names}, "precision": dict.fromkeys(names)}
    copies(finished, tmp_path, names, **changes, fingerprint={name: name for name in names})
    report = compare_runs([tmp_path])
    assert sorted(len(group.runs) for group in report.groups) == [1, 2]
    assert report.rows[1]["against the best"] == "not comparable: other test sentences"
    assert len({group.label for group in report.groups}) == 2


def test_a_record_without_fingerprints_and_precision_is_read(finished, tmp_path):
    values = json.loads((finished("one") / "ledger.json").read_text())
    assert values.pop("texts")
    assert values.pop("precision") == "fp32"
    (tmp_path / "ledger.json").write_text(json.dumps(values))
    ledger = read_ledger(tmp_path)
    assert (ledger.texts, ledger.precision) == ({}, None)


def test_the_precision_that_a_probe_chose_sets_groups_apart(finished, tmp_path):
    chosen = {"one": "fp32", "two": "bf16-mixed"}
    copies(finished, tmp_path, chosen, precision=chosen)
    labels = {group.label: len(group.runs) for group in compare_runs([tmp_path]).groups}
    assert labels == {"device.precision=bf16-mixed": 1, "device.precision=fp32": 1}


def test_the_precision_that_a_probe_chose_is_repeated(finished, tmp_path, monkeypatch):
    start = finished("one")
    monkeypatch.setattr(PAYS, lambda *_: True)
    assert rerun(start, tmp_path / "again") == []
    assert read_ledger(tmp_path / "again").precision == "fp32"


def test_the_shown_loss_is_that_of_the_exported_model(finished):
    scores = [(3.0, 10.0), (2.0, 12.0), (2.5, 14.0), (4.0, 9.0)]
    history = [
        {"epoch": 1, "step": 1, "validation/loss": loss, "validation/bleu": bleu}
        for loss, bleu in scores
    ]
    ledger = replace(read_ledger(finished("one")), history=history, best=history[2])
    assert shown_metrics({}, ledger, of_best=True)["best/validation_loss"] == 2.5
    assert shown_metrics({}, ledger, of_best=False)["best/validation_loss"] == 4.0
