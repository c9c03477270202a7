"""The shares of words that a validation finds to depend on attention."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from seq2seq.decoding.interventions import tokens_that_stay
from seq2seq.tensorboard.attention_panel import AttentionPanel
from seq2seq.tensorboard.callbacks import AttentionRecords
from seq2seq.tensorboard.event_log import EventLog
from seq2seq.tensorboard.record_format import decode_record
from seq2seq.text.batch import Batch
from seq2seq.text.store import encode_split
from tests.models import model_of
from tests.tiny import codecs_of

NAMES = {
    "causal_maximum": "most_attended_erased",
    "causal_random": "another_erased",
    "causal_context": "no_context",
}


class Foreign(nn.Module):
    """An attention of another package."""

    def __init__(self, attention):
        super().__init__()
        self.own = [attention]  # no part of the model

    def __getattr__(self, name):
        return super().__getattr__(name) if name == "_modules" else getattr(self.own[0], name)


@pytest.fixture
def recorded(grammar, tmp_path):
    """Records the attention of a model, and gives the scalars and the batch."""
    pairs = grammar.sample(6, 1, "train")
    codecs = codecs_of(pairs, tmp_path)
    encoded = encode_split(pairs, codecs, max_length=None, truncate=False)
    sizes = [len(codec.vocabulary) for codec in codecs]

    def record(is_foreign, **changes):
        names = "source_vocabulary_size", "target_vocabulary_size"
        model = model_of(**dict(zip(names, sizes, strict=True)), score="bilinear", **changes)
        for parameter in model.parameters():
            parameter.data.mul_(4)
        if is_foreign:
            model.decoder.attention = Foreign(model.decoder.attention)
        panel = AttentionPanel(tuple(f"attention/{place}" for place in range(6)), encoded)
        log = EventLog(tmp_path / "run")
        trainer = SimpleNamespace(loggers=[log], global_step=7)
        module = SimpleNamespace(model=model, device=torch.device("cpu"))
        AttentionRecords(panel, codecs, {}).on_validation_end(trainer, module)
        log.experiment.close()
        events = EventAccumulator(str(tmp_path / "run"), size_guidance={"tensors": 0}).Reload()
        return events, model, Batch.from_split(encoded, range(6))

    return record


def test_shares_are_of_the_words_that_change(recorded):
    events, model, batch = recorded(is_foreign=False)
    stays, _ = tokens_that_stay(model, batch, seed=0, changes=list(NAMES.values()))
    for place, name in enumerate(NAMES):
        rows = [
            stays[row, place, : length - 1].tolist()
            for row, length in enumerate(batch.target_lengths.tolist())
        ]
        words = [word for row in rows for word in row]
        (found,) = events.Scalars(f"attention/{name}")
        assert found.step == 7
        assert found.value == pytest.approx(words.count(False) / len(words))


def test_every_head_is_recorded(recorded):
    events, model, batch = recorded(is_foreign=False, attention_heads=3)
    (event,) = events.Tensors("attention/2/forced")
    record = decode_record(event.tensor_proto.string_val[0])
    assert record.weights.shape == (1, 3, len(record.target), len(record.source))
    forced = model(*batch_arguments(batch)).weights[2, : len(record.target), : len(record.source)]
    mean = record.weights[0].mean(axis=0) / 65535
    np.testing.assert_allclose(mean, forced.detach().numpy(), atol=1e-5)
    assert record.weights[0].std(axis=0).max() > 100  # they are not all the same


def batch_arguments(batch):
    source = batch.source
    lengths = batch.target_lengths
    return source.ids, source.lengths, source.is_token, batch.target_input, lengths


def test_attention_of_another_package_is_recorded_without_them(recorded):
    events, *_ = recorded(is_foreign=True)
    assert events.Tags()["scalars"] == []
    assert "attention/0/forced" in events.Tags()["tensors"]
