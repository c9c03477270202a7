import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from packages.bitext.tests.test_files import through_a_pipe
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus, ParallelText
from seq2seq.data.folders import example_sentences
from seq2seq.data.report import corpus_summary
from seq2seq.data.split import Split, hold_out
from seq2seq.data.tasks import task_pairs
from seq2seq.data.text import SentencePair, Splits, read_parallel, with_alignments
from seq2seq.data.tokenizers import WordTokenizer
from seq2seq.data.vocabulary import UNKNOWN_ID


def written(folder, content, name="text.en"):
    path = folder / name
    path.write_bytes(content)
    return path


def refusal(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_too_few_pairs_to_hold_out_are_refused_by_their_keys():
    pairs = [SentencePair("a", str(index)) for index in range(9)]
    assert refusal(hold_out, pairs, 5, 1) == (
        "9 training pairs: too few to hold out 5 of them: give more pairs, lower data.split.validation and data.split.test, or "
        "give validation files"
    )
    split = Split(validation=5, test=6, in_order=True)
    assert refusal(split.divide, [*pairs, *map(SentencePair, "bcd", "bcd")], 2) == (
        "12 pairs: too few for 2 training, 5 validation and 6 test pairs: lower data.train_pairs"
    )


def test_files_that_are_read_together_may_all_be_pipes(tmp_path):
    texts = ["".join(f"{side} {number}\n" for number in range(3000)) for side in "ab"]
    pairs = read_parallel(*(through_a_pipe(text.encode()) for text in texts))
    assert (len(pairs), pairs[0], pairs[-1]) == (
        3000,
        SentencePair("a 0", "b 0"),
        SentencePair("a 2999", "b 2999"),
    )
    links = through_a_pipe(b"0-0 1-1\n" * 3000)
    assert len(with_alignments(pairs, links, "data.alignments")) == 3000


def test_blank_pairs_are_dropped_from_training_alone_and_never_held_out():
    pairs = [SentencePair(f"a {number}", "b") for number in range(8)]
    blank = [SentencePair("\u200b", "b"), SentencePair("a", "\u00a0"), SentencePair("", "")]
    data = PairsCorpus(train=pairs + blank, validation=blank + pairs[:1], test=blank)
    assert (len(data.prepared.train), data.prepared.train.num_blank) == (8, 3)
    assert (len(data.prepared.validation), len(data.prepared.test)) == (4, 3)
    batches = [index for batch in data.val_dataloader() for index in batch.sentence_ids.tolist()]
    assert sorted(batches) == [1, 3]  # the translation of a blank source is blank
    for seed in range(5):
        rest, held = hold_out(pairs + blank, 4, seed)
        assert not any(pair.is_blank for pair in held)
        assert len(rest) + len(held) == 11
    splits = Split(validation=2, test=2, in_order=True).divide([*pairs[:2], *blank, *pairs[2:]], 2)
    assert splits == Splits(pairs[:2], pairs[2:4], pairs[4:6])


@pytest.mark.parametrize(
    ("options", "left_out"),
    [({}, "0"), ({"max_length": 2}, "2 long"), ({"max_length": {"tokens": 2, "over": "cut"}}, "2 cut"), ({"max_length": {"tokens": 3, "over": "cut"}}, "0")],
)  # fmt: skip
def test_the_table_counts_the_pairs_that_are_left_out_and_those_that_are_cut(options, left_out):
    pairs = [("a b", "a b"), ("a b c", "a"), ("a", "a b c")]
    for both in (False, True):
        data = PairsCorpus(
            train=pairs, validation=pairs, **options, both_directions=both, joint_vocabulary=both
        )
        told = corpus_summary(data)
        (line,) = (line for line in told.splitlines() if line.startswith("train"))
        assert "\nfew pairs " in told
        assert re.split(" {2,}", line)[2] == (left_out.replace("2", "4") if both else left_out)


def test_the_first_validation_batches_are_not_the_shortest_sentences():
    """`limit_val_batches` of Lightning takes the first ones: their score stands for that of all."""
    pairs = [(" ".join("a" * length), "b") for length in range(1, 31) for _ in range(128)]
    data = PairsCorpus(train=pairs[:4], validation=pairs)
    lengths = [batch.source.lengths.double().mean() for batch in data.val_dataloader()]
    assert len(lengths) == 30
    assert abs(np.mean(lengths[:10]) - np.mean(lengths)) < 4
    assert [
        batch.source.lengths.double().mean() for batch in data.val_dataloader()
    ] == lengths  # of all epochs


def test_a_corpus_is_read_once_with_the_tokenizers_that_are_given():
    class Counted(PairsCorpus):
        reads = 0

        def read(self):
            self.reads += 1
            return super().read()

    fitted = Counted(train=[("a b", "B A")], validation=[("a", "A")]).tokenizers
    data = Counted(train=[("c d", "D C")], validation=[("c", "C")])
    data.tokenizers = fitted
    data.setup("fit")
    assert data.prepared.source_tokenizer is fitted[0]
    assert data.prepared.held_out is data.prepared.validation
    assert (data.num_pairs, data.reads) == (1, 1)


def test_fewer_sentences_to_validate_on_than_processes_are_refused():
    """Else one process has no batch and leaves the validation out, and the other waits for it."""
    data = PairsCorpus(train=[("a", "b")] * 4, validation=[("a", "b"), (" ", "c")], test=[("", "")])
    data.trainer = SimpleNamespace(global_rank=0, world_size=2)
    with pytest.raises(InputError, match="2 processes"):
        data.val_dataloader()
    assert len(data.test_dataloader()) == 0


def test_sentences_to_show_are_single_and_need_no_escape():
    right = ["The cats see the old dogs.", "打开选中的文件。", "Where are the two cats?"]
    wrong = ["Open it. Then close it again.", "The cat doesn't see the dogs.", 'She says "no" to the dogs.', "Yes.", "",
             "It costs $5 in this old shop.", "Öffnen? Dann geht es so weiter.", " ".join(["word"] * 30)]  # fmt: skip
    assert example_sentences([*wrong, *right, right[0]]) == right
    assert example_sentences([wrong[0], right[0]]) == [right[0], wrong[0]]
    assert example_sentences(["", "  "]) == []


def test_links_are_of_the_pairs_of_the_files_whatever_is_held_out_or_left(tmp_path):
    lines = [" ".join("abcdefgh"[: n % 7 + 1]) + f" {n}" for n in range(40)]
    for side in ("en", "de"):
        (tmp_path / f"all.{side}").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "links").write_text("".join(f"{len(line.split()) - 1}-0\n" for line in lines))
    files = {"source": str(tmp_path / "all.en"), "target": str(tmp_path / "all.de")}
    for options in ({"split": {"validation": 0.25}}, {"split": {"validation": 0.25}, "max_examples": 6},
                    {"validation": files, "max_examples": 6}):  # fmt: skip
        data = ParallelText(train=files, alignments=str(tmp_path / "links"), **options)
        assert len(data.splits.train) == options.get("max_examples", 30)
        for pair in data.splits.train:
            assert {i for i, _ in pair.alignment} == {len(pair.source.split()) - 1}


def test_a_file_whose_name_is_a_pattern_too_is_the_file(tmp_path):
    for name in ("part[1].en", "part1.en"):
        (tmp_path / name).write_text(f"{name}\n")
    assert [pair.source for pair in read_parallel(tmp_path / "part[1].en", tmp_path / "part1.en")] == [
        "part[1].en"
    ]


def test_a_task_that_has_no_more_pairs_says_so(monkeypatch):
    monkeypatch.setattr("seq2seq.data.tasks.PATIENCE", 200)
    with pytest.raises(InputError, match=r"data\.validation_pairs=400,000"):
        task_pairs("dates", "validation", 400_000, 1, "en")


@pytest.mark.parametrize("rules", ["moses", "word"])
def test_both_directions_have_each_language_in_the_tokens_of_its_rules(rules):
    pairs = [("The man's dog doesn't bark.", "L'homme n'a pas d'amis.")] * 3
    data = PairsCorpus(train=pairs, validation=pairs[:1], joint_vocabulary=True, both_directions=True,
                       tokenizer=partial(WordTokenizer, rules=rules, case="lower"),
                       source_language="en", target_language="fr")  # fmt: skip
    train, (source, target) = data.prepared.train, data.tokenizers
    assert len(train) == 6
    for place, (first, second) in enumerate([(source, target)] * 3 + [(target, source)] * 3):
        pair = train.pairs[place]
        assert train.source[place].tolist() == first.encode(pair.source)
        assert train.target[place].tolist() == second.encode(pair.target)
        assert UNKNOWN_ID not in [*train.source[place], *train.target[place]]


@pytest.mark.parametrize("overfit", [False, True])
def test_gold_alignments_of_a_validation_split_that_is_not_used_are_told(overfit, tmp_path, capsys):
    links = str(written(tmp_path, b"0-0\n", "links"))
    data = PairsCorpus(
        train=[("a", "b")], validation=[("c", "d")], overfit=overfit, validation_alignments=links
    )
    assert bool(data.splits.validation[0].alignment) is not overfit
    assert ("validation_alignments has no effect" in capsys.readouterr().err) is overfit
