import pytest

from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LONGEST, LengthBounds
from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.text import encode_corpus
from seq2seq.runs.preparation import prepare
from seq2seq.runs.run import run
from seq2seq.text.corpus import SentencePair
from seq2seq.training.process_group import ALONE

CHARACTERS = ["data.tokenizer.target_name=character"]


def corpus_of(config):
    return build_corpus(config.data)


@pytest.mark.parametrize(
    "settings",
    [
        ["data.max_length=7"],
        ["data.max_length=7", "data.truncate=true"],
        ["data.max_length=60", "data.tokenizer.name=character"],
    ],
)
def test_a_validation_holds_every_pair_whole_whatever_the_settings(tiny, tmp_path, settings):
    config = tiny(*settings)
    corpus = corpus_of(config)
    encoded = encode_corpus(config, corpus, None, tmp_path)
    assert len(encoded.train) < len(corpus.train) or config.data.truncate
    assert max(encoded.train.source.lengths) <= config.data.max_length
    assert encoded.validation.pairs == corpus.validation
    wanted = [len(encoded.source_codec.encode(pair.source)) for pair in corpus.validation]
    assert encoded.validation.source.lengths.tolist() == wanted
    assert max(wanted) > config.data.max_length


def test_of_an_endless_validation_pair_as_much_is_read_as_is_translated(tiny, tmp_path):
    config = tiny()
    corpus = corpus_of(config)
    corpus.validation.append(SentencePair("a " * 3000, "b " * 2000))
    encoded = encode_corpus(config, corpus, None, tmp_path)
    assert encoded.validation.source.lengths[-1] == encoded.validation.target.lengths[-1] == LONGEST


def test_every_search_of_a_run_and_its_model_have_the_bound_of_the_configuration(
    tiny, tmp_path, monkeypatch
):
    seen = []

    def spy(model, source, *, bounds):
        seen.append((len(source.lengths), bounds))
        return greedy_search(model, source, bounds=bounds)

    for room in ("training.module", "runs.making.pictures", "decoding.search"):
        monkeypatch.setattr(f"seq2seq.{room}.greedy_search", spy)
    short = ["trainer.max_epochs=1", "data.max_length=8", "tensorboard.panel.first=3"]
    scores = run(tiny(*short, "decoding.beam=1", "decoding.max_length=0.5"), tmp_path / "run")
    bounds = LengthBounds(max_factor=0.5)
    assert {each for _, each in seen} == {bounds}
    assert sum(count for count, _ in seen) == 20 + 3 + 20 + 20, "validation, panel, both scores"
    assert scores["validation"]["num_sentences"] == 20
    assert load_model_folder(tmp_path / "run").bounds == bounds


def test_the_report_warns_where_references_are_longer_than_translations_may_be(
    tiny, tmp_path, capsys
):
    for setting, warned in (([], []), (["decoding.max_length=1"], ["validation", "test"])):
        config = tiny(*CHARACTERS, *setting)
        prepared = prepare(config, corpus_of(config), tmp_path / str(len(setting)), ALONE)
        lines = [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line]
        assert [line.split()[4] for line in lines] == warned
        assert all("of 20 " in line and line.endswith("decoding.max_length") for line in lines)
    assert prepared.exported.bounds == LengthBounds(max_factor=1.0)
