"""The case of words in the files of a tokenizer."""

import json

from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import Tokenizer
from tests.small import tokenizers_of

GERMAN = ["Der Mann sieht den Hund und eine Frau.", "Ein Hund, den der Mann ruft, kommt nach Rom."] * 20


def test_a_folder_that_knows_no_marks_writes_as_before(tmp_path):
    text = ["The dog ran. The dog and the cat. And the dog ran. And."]
    _, target = tokenizers_of([SentencePair(each, each) for each in text], ("en", "en"), case="restore")
    line = target.encode("the dog. the cat and. and")
    target.save(tmp_path, "target")
    assert (
        Tokenizer.load(tmp_path, "target").decode(line) == target.decode(line) == "The dog. The cat and. And"
    )
    description = json.loads((tmp_path / "target.json").read_text(encoding="utf-8"))
    del description["sentence_marks"]
    (tmp_path / "target.json").write_text(json.dumps(description), encoding="utf-8")
    assert Tokenizer.load(tmp_path, "target").decode(line) == "The dog. the cat and. and"


def test_a_codec_restores_case_when_asked_and_still_does_so_when_loaded(tmp_path):
    for name in ("word", "unigram"):
        pairs = [SentencePair(text, text) for text in GERMAN]
        size = {"vocab_size": 310} if name == "unigram" else {}
        _, target = tokenizers_of(pairs, ("de", "de"), name, case="restore", **size)
        target.save(tmp_path, "target")
        for each in (target, Tokenizer.load(tmp_path, "target")):
            assert each.decode(each.encode(GERMAN[0])) == GERMAN[0]
