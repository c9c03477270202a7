"""Attention that is changed, and what else says which words matter: against loops of their own."""

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.decoding import effect
from seq2seq.decoding.effect import leave_one_out
from seq2seq.decoding.translator import Translator
from seq2seq.models.folder import SavedModel
from seq2seq.models.limits import LengthLimits
from seq2seq.studies.faithfulness import CHANGES
from seq2seq.studies.interventions import changed_weights, tokens_that_stay
from seq2seq.studies.probing import probe
from tests.small import VARIANTS, batch_of, model_of, tokenizers_of

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


def lively(**changes):
    """A model whose words depend on what it looks at."""
    model = model_of(**changes)
    for parameter in model.parameters():
        parameter.data.mul_(3)
    return model


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


@pytest.mark.parametrize("name", MODELS)
def test_a_token_stays_where_the_step_with_such_a_context_says_it_again(name, monkeypatch):
    batch, every = batch_of(SOURCES, TARGETS, [2, 0, 1]), []
    for model_seed in range(3):  # one random model may say the same whatever it looks at
        model = lively(**MODELS[name], seed=model_seed)
        stays, weights = tokens_that_stay(model, batch, seed=5)
        every.append(stays.double().mean())
        for row, number in enumerate(batch.sentence_ids.tolist()):
            source, target = SOURCES[number], TARGETS[number]
            expected = expected_stays(model, source, target, number, 5, monkeypatch)
            np.testing.assert_array_equal(stays[row, :, : len(target) + 1], expected)
    expected = model.decoder(batch.target_input, model.encode(batch.source))[1].mean(dim=2)
    torch.testing.assert_close(weights, expected)
    assert min(every) > 0
    assert min(every) < 1


def test_what_is_drawn_is_decided_by_the_seed_and_the_place_of_the_pair():
    sentences, model = (SOURCES * 8, TARGETS * 8), lively()
    every = batch_of(*sentences)
    stays, _ = tokens_that_stay(model, every, seed=1)
    drawn = [list(CHANGES).index(name) for name in ("another_erased", "permuted")]
    fixed = [place for place in range(len(CHANGES)) if place not in drawn]
    again, _ = tokens_that_stay(model, batch_of(*sentences, range(23, -1, -1)), seed=1)
    is_token = every.target_is_token.unsqueeze(1)
    assert ((again.flip(0) == stays) | ~is_token).all()
    other, _ = tokens_that_stay(model, every, seed=2)
    assert ((other == stays) | ~is_token)[:, fixed].all()
    assert not ((other == stays) | ~is_token)[:, drawn].all()


def test_a_step_returns_and_remembers_its_own_weights_and_no_change_outlasts_its_block():
    model, batch = lively(**VARIANTS["sparse_coverage"]), batch_of(SOURCES, TARGETS, [0])
    memory = model.encode(batch.source)
    decoder = model.decoder
    arguments = torch.tensor([2]), decoder.initial_state(memory), memory
    features, state, weights = decoder.step(*arguments)
    with changed_weights(decoder, torch.zeros_like):
        changed, new, same = decoder.step(*arguments)
    assert not torch.allclose(changed, features)
    torch.testing.assert_close((same, new[-1]), (weights, state[-1]))
    torch.testing.assert_close(decoder.step(*arguments)[0], features)


@pytest.mark.parametrize("decoder", ["context", "plain"])
def test_a_decoder_without_attention_is_refused_in_one_line(decoder):
    with pytest.raises(InputError, match="it has none") as refusal:
        tokens_that_stay(model_of(decoder=decoder), batch_of(SOURCES, TARGETS, [0]), seed=1)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("tokens", [2048, 20])
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_the_effect_of_a_source_token_is_what_a_loop_without_it_finds(name, tokens, monkeypatch):
    monkeypatch.setattr(effect, "BATCH_SIZE", BatchSize(sentences=None, tokens=tokens))
    model = lively(**MODELS[name])

    def scores(ids, target):
        memory = model.encode(SourceBatch(torch.tensor([ids]), torch.tensor([len(ids)])))
        state, found = model.decoder.initial_state(memory), []
        for token, chosen in zip([2, *target], [*target, 3], strict=True):
            features, state, _ = model.decoder.step(torch.tensor([token]), state, memory)
            found.append(model.decoder.output(features).softmax(dim=1)[0, chosen].log())
        return np.array(found)

    effects = leave_one_out(model, batch_of(SOURCES, TARGETS))
    assert max(np.abs(each).max() for each in effects) > 0.01
    for source, target, found in zip(SOURCES, TARGETS, effects, strict=True):
        ids = [*source, 3]
        whole = scores(ids, target)
        expected = [whole - scores(ids[:place] + ids[place + 1 :], target) for place in range(len(ids))]
        np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-6)


def test_nothing_can_be_left_out_of_an_empty_source():
    with pytest.raises(InputError, match="empty"):
        leave_one_out(model_of(), batch_of([[]], [[5]]))


def test_words_of_a_probed_translation_are_whole_in_the_case_that_it_is_written_in():
    pairs = [SentencePair("a b c", "İstanbul Iğdır güzel .")] * 9
    tokenizers = tokenizers_of(pairs, ("en", "tr"), "bpe", case="restore", vocab_size=300)
    model = model_of(source_vocab_size=tokenizers[0].vocab_size, target_vocab_size=tokenizers[1].vocab_size)
    first, *_ = tokenizers[1].encode("istanbul")  # a piece that begins the word
    model.decoder.output.weight.data.zero_()
    model.decoder.output.bias.data[:] = 9.0 * torch.eye(tokenizers[1].vocab_size)[first]
    saved = SavedModel(model, *tokenizers, LengthLimits(max_ratio=0, max_extra=3))
    (text,) = Translator(saved, device=torch.device("cpu")).translate(["a b c"])
    (found,) = probe(saved, ["a b c"], seed=1)
    assert list(found.words) == text.text.split() == ["İstanbul", "istanbul", "istanbul"]
