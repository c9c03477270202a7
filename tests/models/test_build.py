"""The first values of a model's parameters."""

from functools import partial

import pytest
import torch

from seq2seq.attention import Attention, DotScore
from seq2seq.models import BahdanauDecoder, GRUEncoder, build_model


@pytest.mark.parametrize(("tie", "deviation"), [("none", 1.0), ("output", 1 / 8), ("all", 1 / 8)])
def test_an_embedding_that_is_the_output_layer_begins_smaller(tie, deviation):
    torch.manual_seed(0)
    model = build_model(
        encoder=partial(GRUEncoder, hidden_size=8),
        decoder=partial(
            BahdanauDecoder, hidden_size=16, readout_size=64, attention=partial(Attention, score=DotScore)
        ),
        source_vocab_size=500,
        target_vocab_size=500,
        embedding_size=64,
        tie_embeddings=tie,
    )
    table = model.decoder.embedding.weight.detach()
    assert float(table[2:].std()) == pytest.approx(deviation, rel=0.03)
    assert not table[1].any(), "padding"
    assert (model.decoder.output.weight is model.decoder.embedding.weight) == (tie != "none")
    assert (model.source_embedding is model.decoder.embedding) == (tie == "all")
