"""Words that stay with other attention weights, against steps with a context that is put in the place of the attention."""

import numpy as np
import pytest
import torch

from benchmarks.stays import CHANGES, tokens_that_stay
from seq2seq.data.batch import SourceBatch
from tests.decoding.test_effect import SOURCES, TARGETS, lively
from tests.small import VARIANTS, batch_of


def others(weights, most, order):
    """By name, the weights of one head of a step changed, number by number."""
    size = len(weights)
    other = next(place for place in order if place != most)
    found = {"even": [1 / size] * size, "no_context": [0.0] * size}
    found["permuted"] = [weights[place] for place in order]
    found["most_attended_alone"] = [float(place == most) for place in range(size)]
    for name, gone in (("most_attended_erased", most), ("another_erased", other)):
        left = sum(weight for place, weight in enumerate(weights) if place != gone)
        found[name] = [
            0.0 if place == gone or left == 0 else weight / left for place, weight in enumerate(weights)
        ]
    return found


def context_of(attention, heads, memory):
    """The context of given weights of every head."""
    means = [torch.tensor(weights, dtype=torch.double) @ memory.states[0] for weights in heads]
    if hasattr(attention, "values"):
        projected = zip(attention.values, means, strict=True)
        return torch.cat([value.weight @ mean for value, mean in projected])[None]
    return means[0][None]


@torch.no_grad()
def expected_stays(model, source, target, number, seed, monkeypatch):
    """(changes, tokens), where the attention is taken out and a context put in its place."""
    decoder, ids = model.decoder, torch.tensor([[*source, 3]])
    memory = model.encode(SourceBatch(ids, torch.tensor([ids.shape[1]])))
    generator, state, rows = np.random.default_rng([seed, number]), None, []
    state = decoder.initial_state(memory)
    for token in [2, *target]:
        embedded = torch.tensor([token])
        features, new, weights = decoder.step(embedded, state, memory)
        mean = weights[0].mean(dim=0)
        order = generator.permutation(ids.shape[1]).tolist()
        changed = [others(head, int(mean.argmax()), order) for head in weights[0].tolist()]
        row = []
        for name in CHANGES:
            context = context_of(decoder.attention, [head[name] for head in changed], memory)
            kept = decoder.attention.initial_state(memory)
            with monkeypatch.context() as patch:
                patch.setattr(decoder.attention, "forward", lambda *_: (context, weights, kept))  # noqa: B023
                said, _, _ = decoder.step(embedded, state, memory)
            row.append(bool(decoder.output(said).argmax() == decoder.output(features).argmax()))
        rows.append(row)
        state = new
    return np.array(rows).T


@pytest.mark.parametrize(
    "options", [VARIANTS["additive"], VARIANTS["sparse_coverage"], {"heads": 3, "cell": "lstm"}]
)
def test_a_token_stays_where_the_step_with_such_a_context_says_it_again(options, monkeypatch):
    batch, every = batch_of(SOURCES, TARGETS, [2, 0, 1]), []
    for model_seed in range(3):  # one random model may say the same whatever it looks at
        model = lively(**options, seed=model_seed)
        stays = tokens_that_stay(model, batch, seed=5)
        every.append(stays.double().mean())
        for row, number in enumerate(batch.sentence_ids.tolist()):
            source, target = SOURCES[number], TARGETS[number]
            expected = expected_stays(model, source, target, number, 5, monkeypatch)
            np.testing.assert_array_equal(stays[row, :, : len(target) + 1], expected)
    assert min(every) > 0
    assert min(every) < 1
