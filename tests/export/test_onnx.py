"""The ONNX graphs against the program, by another runtime."""

from functools import partial

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.text import SentencePair
from seq2seq.decoding.greedy import greedy_search
from seq2seq.export.onnx import export_onnx
from seq2seq.models import BahdanauDecoder, GRUEncoder, LSTMEncoder, TransformerEncoder, build_model
from seq2seq.models.folder import SavedModel, save_model_folder
from seq2seq.models.limits import LengthLimits
from tests.small import ALIGNMENTS, DECODERS, SCORES, VARIANTS, decoder_of, model_of, tokenizers_of

onnxruntime = pytest.importorskip("onnxruntime")

SENTENCES = [[4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3]]
MODELS = VARIANTS | {
    "lstm": {"cell": "lstm"},
    "coverage": {"score": "coverage"},
    "sparsemax": {"normalizer": "sparsemax"},
    "conditional": {"decoder": "conditional"},
    "luong": {"decoder": "luong", "num_layers": 2},
    "plain": {"decoder": "plain", "reverse_source": True},
    "context": {"decoder": "context", "readout_size": 5, "num_layers": 2},
    "transformer": {"decoder": "transformer", "num_layers": 2},
    "transformer_tied": {"decoder": "transformer", "tie": "output", "embedding_size": 6},
}


def graphs_of(model, folder, **options):
    tokenizers = tokenizers_of([SentencePair("a b c d e f g", "s t u v w x y")])
    save_model_folder(folder / "model", SavedModel(model, *tokenizers, LengthLimits()))
    found = []
    for path in export_onnx(folder / "model", folder / "onnx", **options):
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
def assert_graphs_compute(model, encode, advance, batches):
    for sentences in batches:
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


USUAL = ("additive", "dot", "bridge_and_readout", "token_in_query", "sparse_coverage", "local_p_heads", "monotonic", "lstm",
         "luong", "plain", "transformer_tied")  # fmt: skip
"""Models of which each has something that the others have not."""


@pytest.mark.parametrize(
    "variant", [*USUAL, *(pytest.param(each, marks=pytest.mark.long) for each in MODELS if each not in USUAL)]
)
def test_encoder_and_steps_are_those_of_the_program_for_any_batch_and_length(variant, tmp_path):
    model = model_of(**MODELS[variant]).float()
    batches = (SENTENCES, SENTENCES[:1], [[4] * 30, [3]])
    assert_graphs_compute(model, *graphs_of(model, tmp_path), batches)


def test_a_search_with_the_graphs_finds_what_the_program_finds(tmp_path):
    """An example of a greedy search without torch."""
    model, limits = model_of(num_layers=2).float(), LengthLimits()
    model.decoder.output.weight.data.mul_(9)
    encode, advance = graphs_of(model, tmp_path)
    sources = SENTENCES
    expected = greedy_search(model, SourceBatch.from_sentences([ids[:-1] for ids in sources]), limits=limits)
    for ids, hypothesis in zip(sources, expected, strict=True):
        given, token, found = {"source": np.array([ids]), "lengths": np.array([len(ids)])}, 2, []
        given |= encode(given)
        while token != 3 and len(found) < 2 * len(ids) + 10:
            step = advance({"tokens": np.array([token]), **given})
            log_probabilities = step["log_probabilities"][0]
            log_probabilities[[1, 2]] = -np.inf  # <pad> and <bos> are never written
            token = int(log_probabilities.argmax())
            found.append(token)
            given |= {name.removeprefix("new_"): each for name, each in step.items()}
        assert tuple(found) == hypothesis.ids


ENCODERS = {
    "gru": partial(GRUEncoder, hidden_size=3),
    "lstm": partial(LSTMEncoder, hidden_size=3, num_layers=2),
    "transformer": partial(TransformerEncoder, hidden_size=8, num_layers=2, heads=2),
}


def combined(encoder, decoder, seed=1, **attention):
    """A model of an encoder of `ENCODERS` or a class, and a decoder of `DECODERS` or a class."""
    torch.manual_seed(seed)
    made = decoder_of(decoder, 8, {"hidden_size": 6}, **attention)
    sizes = {"source_vocab_size": 11, "target_vocab_size": 11, "embedding_size": 8}
    return build_model(
        encoder=ENCODERS.get(encoder) or partial(encoder, hidden_size=3), decoder=made, **sizes
    ).eval()


def test_a_transformer_is_exported_for_any_length(tmp_path):
    model = combined("transformer", "luong")
    assert_graphs_compute(model, *graphs_of(model, tmp_path), (SENTENCES, SENTENCES[:1], [[4] * 30, [3]]))


@pytest.mark.long
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_encoder_decoder_and_attention_in_batches_of_1_3_and_7_and_lengths_1_4_and_23(
    encoder, decoder, tmp_path
):
    attentions = [{}]
    if decoder not in ("context", "plain", "transformer"):
        scores = [{"score": score} for score in SCORES]
        alignments = [
            {"alignment": name, "normalizer": n} for name in ALIGNMENTS for n in ("softmax", "sparsemax")
        ]
        attentions = [*scores, *alignments, {"normalizer": "sparsemax"}, {"heads": 2}]
        attentions.append({"heads": 3, "score": "coverage", "alignment": "local_p"})
    generator = torch.Generator().manual_seed(1)
    for number, attention in enumerate(attentions):
        model = combined(encoder, decoder, seed=number, **attention)
        graphs = graphs_of(model, tmp_path / str(number))
        batches = []
        for size in (1, 3, 7):
            for length in (1, 4, 23):
                ids = torch.randint(4, 11, (size, length - 1), generator=generator).tolist()
                shorter = torch.randint(1, length + 1, (size,), generator=generator).tolist()
                batches.append(
                    [[*row[: cut - 1], 3] for row, cut in zip(ids, [length, *shorter[1:]], strict=True)]
                )
        assert_graphs_compute(model, *graphs, batches)


class FixedBatch(BahdanauDecoder):
    """Its first state has the traced number of sentences."""

    def initial_state(self, memory):
        return (memory.states.new_zeros(len(memory.states), self.stack.hidden_size),)


class FixedLength(BahdanauDecoder):
    """It attends to the traced number of tokens."""

    def step(self, tokens, state, memory):
        features, state, weights = super().step(tokens, state, memory)
        return (
            features + weights[:, : int(weights.shape[1])].sum(),
            state,
            weights * weights.shape[1] / len(weights),
        )


class Summarized(BahdanauDecoder):
    """Its steps use the summary, which the graph of a step does not have."""

    def step(self, tokens, state, memory):
        features, state, weights = super().step(tokens, state, memory)
        return features + memory.summary[:, :1], state, weights


class Far(BahdanauDecoder):
    """It asks in Python whether a source is long, which a trace answers once."""

    def step(self, tokens, state, memory):
        features, state, weights = super().step(tokens, state, memory)
        return -features if memory.states.shape[1] > 300 else features, state, weights


class Short(GRUEncoder):
    """It has 16 positions, and asks in Python whether a source is longer than the traced ones."""

    def forward(self, embedded, lengths):
        if embedded.shape[1] > 16:
            raise IndexError("position 17 of 16")
        return super().forward(2 * embedded if embedded.shape[1] > 4 else embedded, lengths)


@pytest.mark.parametrize("part", [FixedBatch, FixedLength, Summarized, Far, Short])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_graph_that_differs_from_its_model_is_refused_and_not_written(part, tmp_path):
    model = combined(part, "bahdanau") if issubclass(part, GRUEncoder) else combined("gru", part)
    with pytest.raises(InputError, match="the graph with"):
        graphs_of(model, tmp_path, trust_custom_code=True)
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        export_onnx(tmp_path / "nothing", tmp_path / "onnx")
