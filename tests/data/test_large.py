"""A corpus on disk gives the batches of the same files in memory."""

import re

import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data import CharacterTokenizer, LargeText, ParallelText, SentencePieceTokenizer, WordTokenizer
from seq2seq.data.report import corpus_report

PAIRS = [(f"key {n} {'is small ' * (n % 5)}.", f"clef {n} {'est petite ' * (n % 4)}.") for n in range(300)]
PAIRS[7] = ("", "vide")


@pytest.fixture
def files(tmp_path):
    for place, side in enumerate(("source", "target")):
        for part in (0, 1):  # in two files a side, one of them with ends of lines of Windows
            text = "".join(f"{pair[place]}\n" for pair in PAIRS[150 * part : 150 * (part + 1)])
            (tmp_path / f"{part}.{side}").write_text(text, newline="\r\n" if part else "\n")
    pattern = {side: str(tmp_path / f"*.{side}") for side in ("source", "target")}
    return {"train": pattern, "validation": pattern, "batch_size": 16}


def batches(data):
    return list(data.train_dataloader())


def same(one, two):
    return torch.equal(one.source.ids, two.source.ids) and torch.equal(one.target_output, two.target_output)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_length": 12}, {"max_length": {"tokens": 12, "over": "cut"}}, {"max_examples": 90}],
    ids=str,
)
@pytest.mark.parametrize("processes", [1, 2])
def test_batches_are_those_of_the_corpus_in_memory(files, tmp_path, monkeypatch, options, processes):
    monkeypatch.setattr("seq2seq.data.corpora.large.CHUNK", 40)
    usual = ParallelText(**files, **options)
    large = LargeText(**files, **options, cache=str(tmp_path / "cache"), num_processes=processes)
    assert large.num_pairs == usual.num_pairs
    for count in ("num_blank", "num_long", "num_cut"):
        assert getattr(large.prepared.train, count) == getattr(usual.prepared.train, count)
    assert len(large.prepared.train) == len(usual.prepared.train) < len(PAIRS)
    assert large.prepared.source_tokenizer.vocabulary == usual.prepared.source_tokenizer.vocabulary
    assert all(same(*each) for each in zip(batches(usual), batches(large), strict=True))
    assert [str(pair.target) for pair in large.prepared.train.pairs] == [
        large.prepared.target_tokenizer.decode(ids) for ids in usual.prepared.train.target
    ]
    assert f"{len(large.prepared.train):,}" in corpus_report(large)


def test_both_directions_and_subword_sampling(files, tmp_path):
    options = files | {
        "tokenizer": lambda language: SentencePieceTokenizer(
            model_type="unigram", sampling=0.5, vocab_size=300, language=language
        ),
        "joint_vocabulary": True,
        "both_directions": True,
    }
    data = LargeText(**options, cache=str(tmp_path / "cache"))
    assert len(data.prepared.train) == data.num_pairs - 2 == 2 * (len(PAIRS) - 1)
    first, again = batches(data), batches(data)
    assert all(same(*each) for each in zip(first, again, strict=True))
    usual = sum(len(batch.sentence_ids) for batch in first)
    assert usual == len(data.prepared.train)
    sampled = {tuple(ids.tolist()) for batch in first for ids in batch.source.ids}
    assert sampled - {
        tuple(data.prepared.train.source[place].tolist()) for place in range(len(data.prepared.train))
    }


def test_the_tokenized_corpus_is_used_again_until_a_file_changes(files, tmp_path, monkeypatch):
    def read():
        data = LargeText(**files, cache=str(tmp_path / "cache"))
        return len(data.prepared.train)

    whole = read()

    def refuse(*_):
        raise AssertionError("tokenized again")

    with monkeypatch.context() as patched:
        patched.setattr(LargeText, "_rows", refuse)
        assert read() == whole
        path = tmp_path / "0.target"
        path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))  # the same words
        with pytest.raises(Exception, match=r"tokenized again|occurred while generating"):
            read()
    path = tmp_path / "1.target"
    path.write_text("one line\n")
    with pytest.raises(InputError, match=r"partner|differ in their number of lines"):
        read()
    path.write_text("vide\n" + "\n" * 149)
    assert read() == 150


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_checksum_is_of_every_line_wherever_it_lies(files, tmp_path, side):
    def checksum(cache, **options):
        return LargeText(**files, cache=str(tmp_path / cache), **options).prepared.train.checksum

    whole = checksum("one")
    assert checksum("two", num_processes=2) == whole
    path = tmp_path / f"1.{side}"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:60], lines[61], lines[60], *lines[62:]]))  # the same words
    assert checksum("one") != whole


@pytest.mark.parametrize("corpus", [LargeText, ParallelText])
def test_the_text_is_another_once_a_pair_lies_in_another_split(files, tmp_path, corpus):
    def checksums(corpus, fit_pairs):
        options = {"cache": str(tmp_path / "cache"), "fit_pairs": fit_pairs} if corpus is LargeText else {}
        parts = {split: {side: str(tmp_path / f"{part}.{side}") for side in ("source", "target")}
                 for part, split in enumerate(("train", "validation"))}  # fmt: skip
        return corpus(**parts, **options).text_checksums

    before = checksums(corpus, 500)
    assert before == checksums(LargeText, 7)  # also of pairs that the tokenizers are not fitted to
    for side in ("source", "target"):
        train, validation = (tmp_path / f"{part}.{side}" for part in (0, 1))
        *kept, moved = train.read_text().splitlines(keepends=True)
        train.write_text("".join(kept))
        validation.write_text(moved + validation.read_text())
    assert checksums(corpus, 500) != before


def test_what_needs_all_pairs_in_memory_is_refused(files, tmp_path):
    with pytest.raises(InputError, match="data=parallel"):
        LargeText(**files, overfit=True)
    with pytest.raises(InputError, match=r"data\.validation\.source"):
        LargeText(**files | {"validation": {}, "split": {"validation": 0.1}}, cache=str(tmp_path)).setup()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": {"source": "nothing.en", "target": "nothing.fr"}}, "nothing.en: there is no such file"),
        ({"train": {"source": "0.source", "target": None}}, "data.train.target is needed"),
        ({"train": {"source": "0.source", "target": "0.source"}}, "give two files"),
        ({"train": {"source": "pairs.tsv", "target": None}}, "data=tsv data.file=pairs.tsv"),
        ({"train": {"source": "short", "target": "0.target"}}, "short has 9 lines but 0.target has 150"),
        ({"max_length": 1}, "no training pair is left: 1 blank, 299 longer"),
    ],
    ids=str,
)
def test_mistakes_are_said_as_of_a_corpus_in_memory(files, tmp_path, monkeypatch, changes, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 9)
    (tmp_path / "short").write_text("a\n" * 9)
    with pytest.raises(InputError, match=re.escape(message)):
        LargeText(**files | changes, cache="cache").setup()


def test_a_tokenizer_that_changed_tokenizes_again(files, tmp_path):
    found = [
        list(LargeText(**files, cache=str(tmp_path / "cache"), tokenizer=kind).prepared.train.source[0])
        for kind in (WordTokenizer, CharacterTokenizer)
    ]
    assert found[0] != found[1]
