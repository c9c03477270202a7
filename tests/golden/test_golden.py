"""Losses, translations and attention as commit 2fbdffe gave them.

golden.json was written there by tests/golden/record.py, which commit a8703ac has.
"""

import json
import zlib
from functools import partial
from pathlib import Path

import pytest
import torch

from seq2seq.attention import LocalAlignment
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import beam_search
from seq2seq.models.decoder import Decoder
from seq2seq.training.losses import token_cross_entropy
from tests import small

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())
SOURCE = [[5, 6, 7, 8], [9, 10], [11, 4, 5, 12, 6, 13], [7]]
TARGET = [[8, 7, 6], [12, 9, 10, 11], [5, 4, 13, 6], [9]]
"""Token ids of a batch, without ``<eos>``."""
SIZES = {
    "source_vocab_size": 15, "target_vocab_size": 15, "embedding_size": 6, "encoder_hidden_size": 4,
    "decoder_hidden_size": 8, "attention_size": 5,
}  # fmt: skip
STEPS, LEARNING_RATE, SMOOTHING, BEAM = 20, 0.02, 0.1, 3

CASES = {
    "default": {"tie": "output", "readout_size": 6},
    "standard": {"tie": "all", "readout_size": 6, "query_with_embedding": True},
    "lstm": {"cell": "lstm", "readout_size": 6},
    "two_layers": {"num_layers": 2, "initial_state": "copy"},
    "one_direction": {"bidirectional": False, "initial_state": "zeros"},
    "dot": {"score": "dot"},
    "scaled_dot": {"score": "scaled_dot", "readout_size": 6},
    "bilinear": {"score": "bilinear"},
    "gaussian": {"score": "gaussian"},
    "average": {"score": "average", "readout_size": 6},
    "sparsemax": {"normalizer": "sparsemax"},
    "coverage": {"score": "coverage", "readout_size": 6},
    "local_m": {"alignment": partial(LocalAlignment, window=2)},
    "local_p": {"alignment": partial(LocalAlignment, window=2, predictive=True)},
    "heads": {"heads": 2, "readout_size": 6},
    "conditional": {"decoder": "conditional", "readout_size": 6},
    "luong": {"decoder": "luong", "score": "dot", "readout_size": 6},
    "luong_without_feeding": {"decoder": "luong", "score": "bilinear", "input_feeding": False},
    "context": {"decoder": "context", "readout_size": 6},
    "plain": {"decoder": "plain", "readout_size": 6},
    "reversed_lstm": {"decoder": "plain", "cell": "lstm", "reverse_source": True},
}
"""Name -> what differs from a one-layer GRU encoder-decoder with additive attention."""


def fill(name, tensor):
    """Fill a parameter with numbers that follow from its name and shape."""
    places = torch.arange(tensor.numel(), dtype=torch.float64)
    values = torch.sin(1.7 * places + zlib.crc32(name.encode()) % 1000)
    with torch.no_grad():
        tensor.copy_(0.4 * values.view(tensor.shape))
        if name.endswith("embedding.weight") or name == "decoder.output.weight":
            tensor[1] = 0  # padding


def model_of(case):
    """A model with parameters by formula, and their names, of tied ones the first."""
    model = small.model_of(**SIZES, **{"initial_state": "copy", **case}).float().train()
    names = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append((name, parameter))
    for each in names.values():
        fill(*min(each))
    return model, sorted(min(each)[0] for each in names.values())


@pytest.mark.parametrize("path", ["model", "definition"])
@pytest.mark.parametrize("name", CASES)
def test_losses_translations_and_attention_are_those_of_2fbdffe(name, path):
    expected, (model, names) = GOLDEN[name], model_of(CASES[name])
    assert names == expected["names"]
    batch = small.batch_of(SOURCE, TARGET)

    def passed():
        if path == "model":
            features, weights = model(batch)
        else:  # the loop over `step`, which every decoder inherits
            memory = model.encode(batch.source)
            features, weights = Decoder.forward(
                model.decoder, batch.target_input, memory, batch.target_lengths
            )
        sums = token_cross_entropy(
            features,
            model.decoder.output,
            batch.target_output,
            batch.target_is_token,
            label_smoothing=SMOOTHING,
        )
        return sums, weights

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for step, (nll, smoothed) in enumerate(expected["losses"]):
        sums, _ = passed()
        optimizer.zero_grad()
        (sums.objective / int(batch.target_is_token.sum())).backward()
        optimizer.step()
        assert float(sums.nll.detach()) == pytest.approx(nll, abs=1e-3), f"step {step}"
        assert float(sums.objective.detach()) == pytest.approx(smoothed, abs=1e-3), f"step {step}"
    assert step == STEPS - 1
    model.eval()
    with torch.no_grad():
        weights = passed()[1]
    if expected["attention"] is None:
        assert weights is None
    else:
        torch.testing.assert_close(
            weights.mean(dim=2), torch.tensor(expected["attention"]), atol=1e-4, rtol=0
        )
    greedy = greedy_search(model, batch.source)
    beam = [hypotheses[0] for hypotheses in beam_search(model, batch.source, size=BEAM)]
    for found, recorded in ((greedy, expected["greedy"]), (beam, expected["beam"])):
        for hypothesis, (ids, score) in zip(found, recorded, strict=True):
            assert list(hypothesis.ids) == ids
            assert hypothesis.score == pytest.approx(score, abs=1e-3)
