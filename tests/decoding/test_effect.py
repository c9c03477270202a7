"""The effect of each source token, against a loop without it."""

from functools import partial

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.decoding import effect
from seq2seq.decoding.effect import log_probabilities
from tensorboard_attention import leave_one_out
from tests.small import VARIANTS, batch_of, model_of

SOURCES = [[4, 5, 6, 9, 10, 7], [7, 8], [8, 9, 10, 4]]
TARGETS = [[5, 6, 7, 9], [8, 4, 10, 7, 5], [9, 6]]
MODELS = {
    **{name: VARIANTS[name] for name in ("additive", "one_way_two_layers", "token_in_query")},
    **{name: VARIANTS[name] for name in ("sparse_coverage", "local_p_heads", "monotonic")},
    "conditional": {"decoder": "conditional", "num_layers": 2},
    "luong": {"decoder": "luong", "cell": "lstm"},
    "reversed": {"decoder": "luong", "input_feeding": False, "reverse_source": True},
    "heads": {"heads": 3, "cell": "lstm"},
}


def effects_of(model, batch):
    """The effects of each pair of a batch."""
    return [
        leave_one_out(partial(log_probabilities, model, batch, place), length)
        for place, length in enumerate(batch.source.lengths.tolist())
    ]


def lively(**changes):
    """A model whose words depend on what it looks at."""
    model = model_of(**changes)
    for parameter in model.parameters():
        parameter.data.mul_(3)
    return model


@pytest.mark.parametrize("tokens", [2048, 20])
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_the_effect_of_a_source_token_is_what_a_loop_without_it_finds(name, tokens, monkeypatch):
    monkeypatch.setattr(effect, "TOKENS", tokens)
    model = lively(**MODELS[name])

    def scores(ids, target):
        memory = model.encode(SourceBatch(torch.tensor([ids]), torch.tensor([len(ids)])))
        state, found = model.decoder.initial_state(memory), []
        for token, chosen in zip([2, *target], [*target, 3], strict=True):
            features, state, _ = model.decoder.step(torch.tensor([token]), state, memory)
            found.append(model.decoder.output(features).softmax(dim=1)[0, chosen].log())
        return np.array(found)

    effects = effects_of(model, batch_of(SOURCES, TARGETS))
    assert max(np.abs(each).max() for each in effects) > 0.01
    for source, target, found in zip(SOURCES, TARGETS, effects, strict=True):
        ids = [*source, 3]
        whole = scores(ids, target)
        expected = [whole - scores(ids[:place] + ids[place + 1 :], target) for place in range(len(ids))]
        np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-6)


def test_nothing_can_be_left_out_of_an_empty_source():
    with pytest.raises(InputError, match="empty"):
        effects_of(model_of(), batch_of([[]], [[5]]))
