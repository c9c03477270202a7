import re

import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import Multi30k
from seq2seq.data.text import SentencePair


@pytest.mark.parametrize("name", ["flickr_2018", "test_2018_flickr"])
@pytest.mark.parametrize("language", ["de", "fr", "cs"])
def test_the_test_set_of_2018_is_read(name, language, tmp_path):
    for stem in ("train", "val", "test_2018_flickr"):
        for code in ("en", language):
            (tmp_path / f"{stem}.{code}").write_text(f"{stem} {code}\n")
    corpus = Multi30k(
        root=str(tmp_path), download=False, test_set=name, source_language="en", target_language=language
    )
    assert corpus.read().test == [SentencePair("test_2018_flickr en", f"test_2018_flickr {language}")]


def test_another_name_of_a_test_set_is_refused():
    with pytest.raises(InputError, match="flickr_2018"):
        Multi30k(test_set="flickr_2019", source_language="en", target_language="de")


def test_a_folder_for_files_that_cannot_be_fetched_is_not_left_behind(tmp_path):
    root = tmp_path / "no" / "where"
    corpus = Multi30k(
        root=str(root), address="http://127.0.0.1:9", source_language="en", target_language="de"
    )
    with pytest.raises(InputError, match=f"data.root={root}"):
        corpus.prepare_data()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("below", "name"), [("multi30k", "train.en.gz"), ("data/task1/raw", "train.en")])
def test_the_folder_above_the_files_names_the_right_one_and_fetches_nothing(below, name, tmp_path):
    (tmp_path / below).mkdir(parents=True)
    (tmp_path / below / name).touch()
    corpus = Multi30k(
        root=str(tmp_path), address="http://127.0.0.1:9", source_language="en", target_language="de"
    )
    with pytest.raises(InputError, match=re.escape(f"data.root={tmp_path / below}")):
        corpus.prepare_data()
    assert [each.name for each in tmp_path.iterdir()] == [below.partition("/")[0]]


def test_real_files_are_the_published_ones(real_data):
    corpus = Multi30k(
        root=str(real_data / "multi30k"), test_set="flickr_2018", source_language="en", target_language="fr"
    )
    assert len(corpus.read().test) == 1071
