"""A tokenizer of another package makes a codec like ours, and a model folder names it."""

import sys

import pytest

from seq2seq.errors import InputError
from seq2seq.text.codec import load_codec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.splitters import SPLITTERS, Splitter, make_splitter
from tests.tiny import codecs_of

PAIRS = [SentencePair("a cat sat", "un chat"), SentencePair("a dog", "un chien")]
HEAD = "from seq2seq.text.splitters import Splitter\n"


def test_its_name_is_one_of_those_of_the_key(install_example, configured):
    with pytest.raises(
        InputError, match=r"data\.tokenizer\.name=chunks is wrong: .* one of word, "
    ):
        configured("data.tokenizer.name=chunks")
    install_example("chunks")
    assert configured("data.tokenizer.name=chunks").data.tokenizer.name == "chunks"
    with pytest.raises(InputError, match=r"target_name=chunk is wrong: .* did you mean chunks\?"):
        configured("data.tokenizer.target_name=chunk")


def test_a_codec_of_it_is_kept_and_read_with_the_package_alone(
    install_example, tmp_path, monkeypatch
):
    install_example("chunks")
    source, _ = codecs_of(PAIRS, tmp_path, tokenizer="chunks")
    assert source.vocabulary.words(source.encode("a cat")) == ["a ", "ca", "t"]
    again = load_codec(tmp_path, "source")
    assert again.decode(again.encode("a cat sat")) == "a cat sat"
    monkeypatch.setattr(sys, "path", [each for each in sys.path if "seq2seq-chunks" not in each])
    line = r"source\.json: its tokenizer 'chunks' .*install the package .* seq2seq\.tokenizers"
    with pytest.raises(InputError, match=line):
        load_codec(tmp_path, "source")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise OSError('no\\nlicence')", "tokenizer 'bad' of the package 'bad-tokens' cannot be"),
        ("bad = 7", "tokenizer 'bad' of the package 'bad-tokens' is no SplitterMaker: 7"),
        ("bad = len", "tokenizer 'bad' makes no Splitter: 2"),
        ("def bad(language):\n    exit(3)", "tokenizer 'bad' fails: SystemExit: 3"),
        (f"{HEAD}bad = lambda _: Splitter(int, str)", "tokenizer 'bad' fails: ValueError"),
        (f"{HEAD}bad = lambda _: Splitter(len, str)", "'bad' fails: TypeError: 3 is not what"),
        (f"{HEAD}bad = lambda _: Splitter(lambda t: [1], str)", r"'bad' fails: TypeError: \[1\]"),
    ],
)
def test_a_broken_package_is_one_line_that_names_it(install_part, code, line):
    install_part("bad-tokens", "seq2seq.tokenizers", "bad = bad_tokens:bad", code)
    with pytest.raises(InputError, match=line) as refusal:
        make_splitter("bad", "en").split("a b")
    assert "\n" not in str(refusal.value)


def test_names_of_what_sentencepiece_trains_cannot_be_taken():
    with pytest.raises(TypeError, match="tokenizer 'bpe' cannot be called that"):
        SPLITTERS.add("bpe")(lambda _: Splitter(str.split, " ".join))
