"""The ONNX files against this program, by another runtime."""

import re
from pathlib import Path

import pytest
import torch

from seq2seq.commands import export_onnx as export_onnx_command
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.decoding.model_folder import TranslationModel, save_model_folder
from seq2seq.decoding.onnx_export import encoder_content, export_onnx, step_content
from seq2seq.errors import InputError
from seq2seq.text.batch import SourceBatch
from seq2seq.text.corpus import SentencePair
from tests.models import VARIANTS, model_of, spec_of
from tests.tiny import codecs_of

onnxruntime = pytest.importorskip("onnxruntime")

REFUSED = ("gaussian", "sparse_coverage", "local_m", "local_p_heads", "monotonic")
COMPUTED = {name: VARIANTS[name] for name in VARIANTS if name not in REFUSED}
COMPUTED["projected_keys"] = {"score": "scaled_dot", "encoder_hidden_size": 5}
SENTENCES = [[4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3]]
PAGE = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text("utf-8")


def of_runtime(content):
    session = onnxruntime.InferenceSession(content)
    names = [each.name for each in session.get_outputs()]
    return lambda **given: dict(zip(names, session.run(None, given), strict=True))


def assert_close(found, expected):
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("variant", COMPUTED)
def test_encoder_and_steps_are_those_of_the_program_for_any_batch_and_length(variant):
    model = model_of(**COMPUTED[variant]).float()
    encode, advance = of_runtime(encoder_content(model)), of_runtime(step_content(model))
    for sentences in (SENTENCES, SENTENCES[:1], [[4] * 30, [3]]):
        source = SourceBatch.from_sentences(sentences)
        memory = model.encode(source.ids, source.lengths, source.is_token)
        state = model.decoder.initial_state(memory)
        found = encode(tokens=source.ids.numpy(), lengths=source.lengths.numpy())
        assert_close(found["memory"], memory.states)
        assert (found["is_token"] == source.is_token.numpy()).all()
        assert_close(found["state"], torch.stack(state))
        for token in (2, 5, 9):
            tokens = torch.full((len(sentences),), token)
            embedded = model.decoder.embedding(tokens)
            features, state, weights = model.decoder.step(embedded, state, memory)
            step = advance(token=tokens.numpy(), **found)
            found["state"] = step["new_state"]
            logits = model.decoder.output(features)
            assert_close(step["log_probabilities"], logits.log_softmax(-1))
            assert_close(step["new_state"], torch.stack(state))
            assert_close(step["weights"], weights)


@pytest.fixture
def codecs(tmp_path):
    """Of eleven tokens, as the models of `tests.models` have them."""
    return codecs_of([SentencePair("a b c d e f g", "s t u v w x y")], tmp_path / "tokenizers")


def exported(folder, codecs, **changes):
    model = model_of(**changes).float()
    save_model_folder(folder, TranslationModel(spec_of(**changes), model, *codecs, LengthBounds()))
    return model


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"score": "gaussian"}, "ONNX computes no attention.score=gaussian"),
        ({"cell": "lstm"}, "ONNX computes model.cell=gru only, not model.cell=lstm"),
        ({"decoder": "luong"}, "ONNX computes decoder=bahdanau only, not decoder=luong"),
        ({"attention_kind": "monotonic"}, "ONNX computes attention.kind=global only"),
    ],
)
def test_other_models_are_refused_in_one_line(changes, line, codecs, tmp_path):
    exported(tmp_path / "model", codecs, **changes)
    with pytest.raises(InputError, match=re.escape(line)):
        export_onnx(tmp_path / "model", tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_an_output_that_is_no_folder_is_one_line(codecs, tmp_path, monkeypatch, capsys):
    exported(tmp_path / "model", codecs)
    (tmp_path / "thesis").write_text("mine")
    (tmp_path / "taken" / "step.onnx").mkdir(parents=True)
    for name in ("thesis", "taken", "thesis/inner"):
        arguments = [str(tmp_path / "model"), "-o", str(tmp_path / name)]
        monkeypatch.setattr("sys.argv", ["export_onnx.py", *arguments])
        assert export_onnx_command.main() == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: {tmp_path / name} cannot be written (")
        assert said.count("\n") == 1
    assert (tmp_path / "thesis").read_text() == "mine"


def test_the_search_of_the_page_finds_what_the_program_finds(codecs, tmp_path):
    model = exported(tmp_path / "model", codecs)
    model.decoder.output.bias.data[3] = -1  # else nothing is said
    save_model_folder(tmp_path / "model", TranslationModel(spec_of(), model, *codecs))
    export_onnx(tmp_path / "model", tmp_path / "onnx")
    texts = [text.split() for text in ("a b c", "d", "unheard-of g f e d c b a")]
    source = SourceBatch.from_sentences([codecs[0].vocabulary.ids(t) for t in texts])
    expected = [codecs[1].vocabulary.words(found.ids) for found in greedy_search(model, source)]
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) <= 40
    page = {}
    exec(compile(code, "docs/onnx.md", "exec"), page)
    found = page["translate"](tmp_path / "onnx", texts)
    assert found == [[word for word in words if word != "<eos>"] for words in expected]
    assert len({len(words) for words in found}) > 1, found
