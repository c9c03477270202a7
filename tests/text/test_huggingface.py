import gzip
import json
import lzma
import sys

import pytest

from seq2seq.errors import InputError
from seq2seq.text import files
from seq2seq.text.corpus import SentencePair
from seq2seq.text.huggingface import HubDataset, HubSplits

PAIRS = [("A dog.", "Un chien."), ("A cat.", "Un chat.")]


def rows(nested):
    texts = [{"en": source, "fr": target} for source, target in PAIRS]
    return [{"translation": text} for text in texts] if nested else texts


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The real library, its cache in a folder of the test, and no network."""
    datasets = pytest.importorskip("datasets", reason="needs the extra hf")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return datasets


def jsonl(_hub, folder, nested=True):
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows(nested))
    for split in ("train", "validation", "test"):
        (folder / f"{split}.jsonl").write_text(text)
    return folder


def of_columns(hub, folder):
    return jsonl(hub, folder, nested=False)


def parquet(hub, folder):
    folder.mkdir()
    hub.Dataset.from_list(rows(nested=True)).to_parquet(folder / "train.parquet")
    return folder


def saved(hub, folder):
    features = hub.Features({"translation": hub.Translation(languages=("en", "fr"))})
    split = hub.Dataset.from_list(rows(nested=True), features=features)
    hub.DatasetDict({"train": split}).save_to_disk(folder)
    return folder


def dataset(folder, column="translation", languages=("en", "fr")):
    return HubDataset(
        name=str(folder), subset=None, revision=None, column=column, languages=languages
    )


@pytest.mark.parametrize(
    ("make", "column"),
    [
        (jsonl, "translation"),
        (of_columns, None),
        (parquet, "translation"),
        (saved, "translation"),
    ],
    ids=["jsonl", "columns", "parquet", "save_to_disk"],
)
def test_a_local_folder_is_read_in_each_form_and_direction(hub, tmp_path, make, column):
    folder = make(hub, tmp_path / "data")
    pairs = HubSplits(dataset(folder, column)).pairs("data.train_split", "train")
    assert pairs == [SentencePair(*pair) for pair in PAIRS]
    turned = HubSplits(dataset(folder, column, ("fr", "en"))).pairs("data.train_split", "train")
    assert turned == [SentencePair(target, source) for source, target in PAIRS]


def refusal(*arguments, split="train"):
    with pytest.raises(InputError) as caught:
        HubSplits(dataset(*arguments)).pairs("data.train_split", split)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_a_dataset_lacks_is_named_with_what_it_has(hub, tmp_path):
    folder = jsonl(hub, tmp_path / "data")
    assert refusal(folder, split="dev") == (
        f"data.train_split=dev: {folder} has no such split; there are train, validation, test"
    )
    assert refusal(folder, "text") == (
        f"data.column=text: {folder} has no such column; there are translation "
        "(data.column=null where each language is a column)"
    )
    assert refusal(folder, "translation", ("en", "de")) == (
        f"{folder}, row 1: no text in de; there are en, fr: set data.target_language to one of them"
    )


def test_a_folder_that_is_missing_empty_or_damaged_is_refused(hub, tmp_path):
    assert "data.dataset=./absent: there is no such folder" in refusal("./absent")
    assert f"data.dataset={tmp_path} cannot be loaded (" in refusal(tmp_path)
    (tmp_path / "train.jsonl").write_text('{"translation": ')
    assert f"data.dataset={tmp_path} cannot be loaded (" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train.jsonl.gz", gzip.compress(bytes(50_000_000)), "line 1 is longer"),
        ("train.jsonl", bytes(2_000_000), "line 1 is longer"),
        ("train.csv.xz", lzma.compress(b"a,b\n" * 10_000_000), "unfolds to more than"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bomb_is_refused_before_the_library_reads_it(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in refusal(tmp_path)


def test_a_dataset_is_no_larger_than_can_be_held(hub, tmp_path, monkeypatch):
    folder = parquet(hub, tmp_path / "data")
    monkeypatch.setattr(files, "MOST_LINES", 2)
    assert len(HubSplits(dataset(folder)).pairs("data.train_split", "train")) == 2
    monkeypatch.setattr(files, "MOST_LINES", 1)
    assert f"{folder} holds more than" in refusal(folder)
    monkeypatch.setattr(files, "MOST_BYTES", (folder / "train.parquet").stat().st_size - 1)
    assert "train.parquet holds more than" in refusal(folder)


def test_a_program_in_a_dataset_is_not_run(hub, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    mark = tmp_path / "was_run"
    (folder / "data.py").write_text(f"open({str(mark)!r}, 'w')\n")
    assert "cannot be loaded" in refusal(folder)
    assert not mark.exists()


def test_without_the_extra_the_way_to_install_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    message = "data=hf needs the package datasets: pip install 'seq2seq-attention[hf]'"
    assert refusal(tmp_path).startswith(message)
