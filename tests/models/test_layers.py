"""The first values of a model's parameters."""

import pytest

from tests.small import model_of


@pytest.mark.parametrize(("tie", "deviation"), [("none", 1.0), ("output", 1 / 8), ("all", 1 / 8)])
def test_an_embedding_that_is_the_output_layer_begins_smaller(tie, deviation):
    sizes = {"source_vocab_size": 500, "target_vocab_size": 500, "embedding_size": 64, "readout_size": 64}
    model = model_of(**sizes, tie=tie)
    table = model.decoder.embedding.weight.detach()
    assert float(table[2:].std()) == pytest.approx(deviation, rel=0.03)
    assert not table[1].any(), "padding"
    assert (model.decoder.output.weight is model.decoder.embedding.weight) == (tie != "none")
    assert (model.source_embedding is model.decoder.embedding) == (tie == "all")
