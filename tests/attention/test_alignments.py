"""What alignments do in training only: noise and dropout."""

from functools import partial

import pytest
import torch

from seq2seq.attention import Attention, LocalAlignment, Memory, MonotonicAlignment, ScaledDotScore


def memory_of(states):
    return Memory(states, states, torch.ones(states.shape[:2], dtype=torch.bool), states[:, 0])


def test_in_training_scores_of_monotonic_attention_have_normal_noise_of_deviation_one():
    torch.manual_seed(0)
    attention = Attention(
        4, 4, score=ScaledDotScore, alignment=partial(MonotonicAlignment, first_offset=0.7)
    ).train()
    query, states = torch.randn(4000, 4), torch.randn(4000, 3, 4)
    memory = memory_of(states)
    _, weights, _ = attention(query, memory, attention.initial_state(memory))
    # of the first token at the first step the weight is its probability
    noise = weights[:, 0, 0].detach().logit() - (query * states[:, 0]).sum(1) / 2 - 0.7
    assert float(noise.mean()) == pytest.approx(0, abs=0.06)
    assert float(noise.std()) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("alignment", [None, partial(LocalAlignment, window=9)])
def test_dropout_leaves_weights_out_of_the_context_and_returns_those_before_it(alignment):
    torch.manual_seed(0)
    attention = Attention(4, 4, score=ScaledDotScore, alignment=alignment, dropout=0.5)
    states = torch.eye(4).expand(300, 4, 4)  # the context is the weights
    memory = memory_of(states)
    query = torch.randn(300, 4)
    context, weights, _ = attention.train()(query, memory, attention.initial_state(memory))
    kept, before, _ = attention.eval()(query, memory, attention.initial_state(memory))
    torch.testing.assert_close(kept, before[:, 0])
    torch.testing.assert_close(weights, before)
    dropped = context == 0
    assert float(dropped.float().mean()) == pytest.approx(0.5, abs=0.05)
    torch.testing.assert_close(context[~dropped], 2 * kept[~dropped])
