"""The ONNX graphs against the program, by another runtime."""

import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError
from seq2seq.export.model_folder import SavedModel, save_model_folder
from seq2seq.export.onnx import export_onnx
from seq2seq.models.limits import LengthLimits
from tests.small import VARIANTS, model_of, tokenizers_of

onnxruntime = pytest.importorskip("onnxruntime")

SENTENCES = [[4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3]]
MODELS = VARIANTS | {
    "lstm": {"cell": "lstm"},
    "coverage": {"score": "coverage"},
    "sparsemax": {"normalizer": "sparsemax"},
    "conditional": {"decoder": "conditional"},
    "luong": {"decoder": "luong", "num_layers": 2},
    "plain": {"decoder": "plain", "reverse_source": True},
}


def graphs_of(model, folder):
    tokenizers = tokenizers_of([SentencePair("a b c d e f g", "s t u v w x y")])
    save_model_folder(folder / "model", SavedModel(model, *tokenizers, LengthLimits()))
    found = []
    for path in export_onnx(folder / "model", folder / "onnx"):
        session = onnxruntime.InferenceSession(path)
        wanted = [each.name for each in session.get_inputs()]
        names = [each.name for each in session.get_outputs()]

        def run(given, session=session, wanted=wanted, names=names):
            given = {name: given[name] for name in wanted}
            return dict(zip(names, session.run(None, given), strict=True))

        found.append(run)
    return found


def assert_close(found, expected):
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("variant", MODELS)
def test_encoder_and_steps_are_those_of_the_program_for_any_batch_and_length(variant, tmp_path):
    model = model_of(**MODELS[variant]).float()
    encode, advance = graphs_of(model, tmp_path)
    for sentences in (SENTENCES, SENTENCES[:1], [[4] * 30, [3]]):
        source = SourceBatch.from_sentences([ids[:-1] for ids in sentences])
        memory = model.encode(source)
        state = model.decoder.initial_state(memory)
        found = encode({"source": source.ids.numpy(), "lengths": source.lengths.numpy()})
        assert_close(found["memory_states"], memory.states)
        for token in (2, 5, 9):
            tokens = torch.full((len(sentences),), token)
            features, state, weights = model.decoder.step(tokens, state, memory)
            step = advance({"tokens": tokens.numpy(), **found})
            assert_close(step["log_probabilities"], model.decoder.output(features).log_softmax(-1))
            if weights is not None:
                assert_close(step["weights"], weights.mean(dim=1))
            for place, each in enumerate(state):
                found[f"state_{place}"] = step[f"new_state_{place}"]
                assert_close(found[f"state_{place}"], each)


def test_a_model_that_torch_cannot_export_is_refused(tmp_path):
    with pytest.raises(InputError, match="ContextDecoder"):
        graphs_of(model_of(decoder="context").float(), tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        export_onnx(tmp_path / "nothing", tmp_path / "onnx")
