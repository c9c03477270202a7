"""Files of pairs as a corpus reads them: `data=tsv`, `data=parallel`. The formats are tested in packages/bitext."""

import csv
import io
import json

import numpy as np
import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus, ParallelText, TabSeparatedText
from seq2seq.data.files import columns_of, read_pairs, two_files
from seq2seq.data.text import SentencePair, read_lines, read_parallel

PAIRS = [
    ("A dog & a cat.", "Un chien et un chat."),
    ("He runs.", "Il court."),
    ("She sings.", "Elle chante."),
]
SOURCES, TARGETS = zip(*PAIRS, strict=True)
UNITS = "".join(
    f'<tu><tuv xml:lang="fr"><seg>{b}</seg></tuv><tuv xml:lang="en"><seg>{a.replace("&", "&amp;")}</seg></tuv></tu>'
    for a, b in PAIRS
)
TMX = f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{UNITS}</body></tmx>'


def as_csv(rows, **options):
    file = io.StringIO(newline="")
    csv.writer(file, **options).writerows(rows)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [("en,fr\n\"a,b\n", "line 2"), ("a,b\nc,d\n", "data.source_column and data.target_column"), (TMX.replace('"fr"', '"de"'), "data.target_language")],
)  # fmt: skip
def test_what_is_in_doubt_is_said_with_the_keys_of_the_configuration(content, said, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    corpus = TabSeparatedText(file=str(path), source_language="en", target_language="fr")
    with pytest.raises(InputError, match=said) as caught:
        corpus.read()
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"data\.source_column and data\.target_column are needed together"):
        TabSeparatedText(file=str(path), source_column=1)


@pytest.mark.parametrize("content", [json.dumps({"en": "A.", "fr": "B."}), TMX, "A.\tB.\n"])
def test_a_file_of_both_languages_is_no_side_of_two_files(content, tmp_path):
    path, plain = tmp_path / "a.en", tmp_path / "b.en"
    path.write_text(content)
    plain.write_text("A line.\n")
    for files in ((path, plain), (plain, path)):
        with pytest.raises(InputError, match=f"data=tsv data.file={path}"):
            two_files("data.train", dict(zip(("source", "target"), files, strict=True)))


def test_two_files_of_subtitles_are_paired_by_their_times(tmp_path):
    for name, texts in (("a.en", ("One.", "Two.")), ("a.fr", ("Un.", "Deux."))):
        (tmp_path / name).write_text(
            "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}\n\n" for n, text in enumerate(texts))
        )
    pairs = read_parallel(tmp_path / "a.en", tmp_path / "a.fr")
    assert pairs == [SentencePair("One.", "Un."), SentencePair("Two.", "Deux.")]
    with pytest.raises(InputError, match="subtitles"):
        read_lines(tmp_path / "a.en")


def test_files_that_cannot_be_read_are_wrong_input(tmp_path):
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / "a.fr").write_bytes(b"a\n\xe9\n")
    for call, said in (
        (lambda: read_lines(tmp_path / "none.en"), "there is no such file"), (lambda: read_lines(tmp_path / "a.fr"), "iconv"),
        (lambda: read_parallel(tmp_path / "a.en", tmp_path / "a.fr"), "not UTF-8"),
        (lambda: two_files("data.train", {"source": str(tmp_path)}), "data.train.target is needed"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            call()


def test_what_is_said_of_a_file_is_said_once_and_escapes_of_moses_are_warned_of(tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    path.write_text("target\tsource\n" + "".join(f"{b}\t{a}\n" for a, b in PAIRS))
    for _ in range(2):
        read_pairs(str(path), columns_of("en", "fr", None, None))
    assert len(capsys.readouterr().out.splitlines()) == 1
    escaped = [("Say &quot;a&quot;.", "Dites &quot;a&quot;.")] * 3
    options = {"source_language": "en", "target_language": "fr", "validation": PAIRS}
    assert len(PairsCorpus(train=escaped, **options).splits.train) == 3
    assert "&quot;" in capsys.readouterr().err
    assert PairsCorpus(train=PAIRS, **options).splits.validation
    assert not capsys.readouterr().err


def test_wmt_sgml_is_read_as_lines_and_a_file_of_pairs_as_a_split(tmp_path):
    for name, lines in (("a.en", SOURCES), ("a.fr", TARGETS)):
        segments = "\n".join(
            f'<seg id="{i}"> {line.replace("&", "&amp;")} </seg>' for i, line in enumerate(lines)
        )
        (tmp_path / name).write_text(
            f'<refset setid="x" srclang="any">\n<doc docid="d">\n<p>\n{segments}\n</p></doc></refset>\n'
        )
    (tmp_path / "a.tmx").write_text(TMX)
    sgml = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr")}
    corpus = ParallelText(
        train=sgml, validation={"source": str(tmp_path / "a.tmx")}, source_language="en", target_language="fr"
    )
    splits = corpus.read()
    assert splits.train == splits.validation == [SentencePair(*pair) for pair in PAIRS]


def test_some_of_the_training_pairs_are_drawn_from_the_whole_file_and_more_hold_fewer(tmp_path):
    path = tmp_path / "sorted.tsv"  # by length, as manythings.org serves pairs
    path.write_text("".join(f"{'a ' * (number // 10)}{number}\tb {number}\n" for number in range(1000)))

    def pairs(**options):
        split = {"validation": 100, "test": 100} | options.pop("split", {})
        named = {"source_language": "en", "target_language": "fr"}
        return TabSeparatedText(file=str(path), split=split, **named, **options).splits

    every, more, fewer = (pairs(train_pairs=count) for count in (None, 400, 100))
    numbers = [[int(pair.target.split()[1]) for pair in splits.train] for splits in (every, more, fewer)]
    assert [len(each) for each in numbers] == [800, 400, 100]
    assert set(numbers[2]) < set(numbers[1]) < set(numbers[0])
    assert abs(np.mean(numbers[2]) - 500) < 120  # four standard errors
    assert all(each == sorted(each) for each in numbers)
    assert pairs(train_pairs=100).train == fewer.train != pairs(train_pairs=100, split={"seed": 2}).train
    first = pairs(train_pairs=100, split={"in_order": True}).train
    assert [int(pair.target.split()[1]) for pair in first] == list(range(100))
