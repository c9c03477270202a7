"""The first values of a model's parameters, and what dropout does to a mean."""

import pytest
import torch

from seq2seq.models.layers import Dropout
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


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5])
def test_dropout_leaves_out_its_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    dropout, ones = Dropout(p), torch.ones(200, 501)
    dropped = dropout.train()(ones)
    assert float((dropped == 0).float().mean()) == pytest.approx(p, abs=0.01)
    torch.testing.assert_close(dropped[dropped != 0].mean(), torch.tensor(1 / (1 - p)), rtol=1e-3, atol=0)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)
    assert torch.equal(dropout.eval()(ones), ones)
