import hashlib

import pytest

from seq2seq.errors import InputError
from seq2seq.text.multi30k import (
    LANGUAGES,
    MD5,
    SHA256,
    TEST_STEMS,
    Selection,
    checksum,
    missing_files,
    read_multi30k,
)


def test_every_file_of_every_language_and_test_set_has_one_checksum():
    stems = ["train", "val", *TEST_STEMS.values()]
    files = {f"{stem}.{language}" for stem in stems for language in LANGUAGES}
    assert files - {"test_2017_flickr.cs", "test_2017_mscoco.cs"} == SHA256.keys() | MD5.keys()
    assert not SHA256.keys() & MD5.keys()
    for name in SHA256.keys() | MD5.keys():
        found = checksum(name)
        assert len(found.digest) == 2 * hashlib.new(found.algorithm).digest_size


def test_the_checksums_are_those_of_the_published_files(real_data):
    for name, digest in SHA256.items():
        content = (real_data / "multi30k" / f"{name}.gz").read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest, name


@pytest.mark.parametrize("source", LANGUAGES)
@pytest.mark.parametrize("target", LANGUAGES)
def test_any_direction_is_read_from_plain_or_published_files(tmp_path, source, target):
    if source == target:
        return
    selection = Selection(source, target, "flickr_2016")
    assert missing_files(tmp_path, selection) == list(selection.names())
    for name in selection.names():
        (tmp_path / name).write_text(f"{name}\n")
    assert missing_files(tmp_path, selection) == []
    corpus = read_multi30k(tmp_path, selection)
    assert [corpus.train[0].source, corpus.test[0].target] == [
        f"train.{source}",
        f"test_2016_flickr.{target}",
    ]


@pytest.mark.parametrize("test_set", TEST_STEMS)
def test_each_test_set_has_files_of_its_own(test_set):
    names = list(Selection("fr", "de", test_set).names())
    assert names[4:] == [f"{TEST_STEMS[test_set]}.fr", f"{TEST_STEMS[test_set]}.de"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (
            ("en", "german", "flickr_2016"),
            "data.target_language=german: Multi30k has no such language, did you mean de?; "
            "there are en, de, fr, cs",
        ),
        (
            ("en", "cs", "coco_2017"),
            "data.test_set=coco_2017: Multi30k does not have it in cs: "
            "set data.test_set=flickr_2016",
        ),
        (
            ("fr", "fr", "flickr_2016"),
            "data.source_language and data.target_language are both fr: "
            "set data.target_language to another, en, de, cs",
        ),
    ],
)
def test_what_multi30k_does_not_have_is_refused(selection, message):
    with pytest.raises(InputError) as caught:
        Selection(*selection)
    assert str(caught.value) == message
