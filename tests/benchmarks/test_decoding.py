import json

import pytest
import torch

from benchmarks import speed
from benchmarks.decoding import translate_all_singly
from benchmarks.textbook import textbook_of
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import DEFAULT_BOUNDS
from seq2seq.decoding.model_folder import TranslationModel, save_model_folder
from seq2seq.errors import InputError
from seq2seq.model.build import build_seq2seq
from seq2seq.text.batch import SourceBatch
from seq2seq.text.codec import CodecSettings, train_codecs
from seq2seq.text.corpus import SentencePair
from seq2seq.text.vocabulary import END_ID
from tests.models import spec_of

TEXT = ["a b c d e f g", "b c", "", "d e f"]
PLAIN = {"embedding_size": 6, "encoder_hidden_size": 6, "num_layers": 2, "bidirectional": False}


@pytest.fixture
def model():
    torch.manual_seed(3)
    model = build_seq2seq(spec_of(**PLAIN)).double().eval()
    model.decoder.output.weight.data.mul_(12)
    return model


def test_the_textbook_ends_its_translations_where_greedy_search_does(model):
    model.decoder.output.bias.data[1:3] = -1e3  # greedy search never gives padding and <bos>
    model.decoder.output.bias.data[END_ID] = 3
    textbook = textbook_of(spec_of(**PLAIN), model)
    sources = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [7, 7]]
    found = translate_all_singly(textbook, sources, DEFAULT_BOUNDS, torch.device("cpu"))
    greedy = greedy_search(model, SourceBatch.from_sentences(sources))
    assert [tuple(ids) for ids in found] == [hypothesis.ids for hypothesis in greedy]
    assert any(ids[-1] == END_ID for ids in found)


def exported(folder, model):
    settings = CodecSettings(
        "word", "word", lowercase=False, joint=True, min_frequency=1, max_size=None
    )
    codecs = train_codecs(
        [SentencePair(text, text) for text in TEXT], settings, ("en", "en"), folder / "codecs"
    )
    save_model_folder(folder / "model", TranslationModel(spec_of(**PLAIN), model.float(), *codecs))
    return folder


def test_a_trained_model_is_measured_on_a_file(tmp_path, monkeypatch, capsys, model):
    exported(tmp_path, model)
    source, path = tmp_path / "source.txt", tmp_path / "figures.json"
    source.write_text("\n".join(TEXT) + "\n")
    arguments = ["--quick", "--model", str(tmp_path), "--source", str(source), "--json", str(path)]
    monkeypatch.setattr("sys.argv", ["speed.py", *arguments])
    assert speed.main() == 0
    figures = json.loads(path.read_text())
    searches = {
        "textbook_greedy",
        "greedy",
        "beam5",
        "greedy_bf16",
        "beam5_bf16",
        "beam5_bf16_pruned",
    }
    assert figures["sentences_per_second"].keys() == searches
    assert all(speed > 0 for speed in figures["sentences_per_second"].values())
    assert "beam5_bf16" in capsys.readouterr().out


@pytest.mark.parametrize("changes", [{"score": "dot"}, {"readout_size": 5}, {"embedding_size": 4}])
def test_a_model_with_other_parts_than_the_textbooks_is_refused(changes, model):
    with pytest.raises(InputError, match="recipe=textbook"):
        textbook_of(spec_of(**{**PLAIN, **changes}), model)


def test_a_model_without_text_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["speed.py", "--model", "runs/a"])
    assert speed.main() == 2
    assert capsys.readouterr().err == "error: --model and --source go together\n"
