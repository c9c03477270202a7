"""Attentions against the oracle: contexts, weights and every gradient, step by step."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from seq2seq.attention import LocalAlignment, Memory, MonotonicAlignment
from tests.oracles.attentions import AttentionOracle
from tests.small import attention_of

PLAIN = {
    "score": "additive", "kind": "global", "coverage": False, "normalizer": "softmax", "heads": 1, "window": None,
}  # fmt: skip
FORMS = {
    "average": {"score": "average"},
    "sparsemax": {"normalizer": "sparsemax"},
    "coverage": {"coverage": True},
    "local_m": {"kind": "local_m", "window": 1},
    "local_p": {"kind": "local_p", "window": 2},
    "monotonic": {"kind": "monotonic"},
    "heads": {"heads": 3},
    "dot_heads": {"heads": 2, "score": "scaled_dot"},
    "sparse_coverage": {"coverage": True, "normalizer": "sparsemax"},
    "sparse_local_p": {"kind": "local_p", "window": 1, "normalizer": "sparsemax"},
    "local_coverage": {"kind": "local_m", "window": 2, "coverage": True},
    "monotonic_coverage": {"kind": "monotonic", "coverage": True},
    "local_average": {"kind": "local_m", "window": 1, "score": "average"},
    "everything": {"kind": "local_p", "window": 1, "heads": 2, "coverage": True},
    "monotonic_heads": {"kind": "monotonic", "heads": 2, "score": "scaled_dot"},
}
QUERY_SIZE, MEMORY_SIZE, NUM_STEPS, LENGTHS = 6, 6, 5, [4, 1, 6]
WIDTH = max(LENGTHS)


@pytest.fixture(autouse=True)
def without_noise(monkeypatch):
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)  # of monotonic attention


def form_of(name):
    return SimpleNamespace(name=name, **(PLAIN | FORMS[name]))


def built(form, dtype=torch.float64):
    """An attention whose numbers are large enough to tell its parts apart."""
    torch.manual_seed(len(form.name))
    alignment = {
        "global": None,
        "local_m": partial(LocalAlignment, window=form.window),
        "local_p": partial(LocalAlignment, window=form.window, predictive=True),
        "monotonic": MonotonicAlignment,
    }[form.kind]
    score = "coverage" if form.coverage else form.score
    attention = attention_of(score, alignment, form.normalizer, form.heads)
    attention = attention(query_size=QUERY_SIZE, memory_size=MEMORY_SIZE)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.mul_(2)
    return attention.to(dtype)


def inputs(dtype=torch.float64):
    """States (B, S, M) with anything on padding, and a query for each sentence and step."""
    generator = torch.Generator().manual_seed(3)
    states = torch.randn(len(LENGTHS), WIDTH, MEMORY_SIZE, generator=generator, dtype=dtype)
    queries = torch.randn(NUM_STEPS, len(LENGTHS), QUERY_SIZE, generator=generator, dtype=dtype)
    return states.requires_grad_(), (2 * queries).requires_grad_()


def memory_of(attention, states):
    is_token = torch.arange(WIDTH) < torch.tensor(LENGTHS).unsqueeze(1)
    return Memory(states, attention.project_keys(states), is_token, states[:, 0])


def passed(attention, states, queries):
    """Contexts and weights (T, B, …)."""
    memory = memory_of(attention, states)
    state, steps = attention.initial_state(memory), []
    for query in queries:
        context, weights, state = attention(query, memory, state)
        steps.append((context, weights))
    return [torch.stack(parts) for parts in zip(*steps, strict=True)]


def expected(oracle, states, queries):
    """The same by the oracle, padded with zeros."""
    contexts, weights = [], []
    for sentence, length in enumerate(LENGTHS):
        past, rows = [], []
        for query in queries[:, sentence]:
            context, looked = oracle.attend(query, states[sentence, :length], past)
            past.append(looked)
            rows.append(context)
        contexts.append(torch.stack(rows))
        shown = torch.stack([each if each.ndim == 2 else each.unsqueeze(0) for each in past])
        weights.append(torch.nn.functional.pad(shown, (0, WIDTH - length)))
    return torch.stack(contexts, dim=1), torch.stack(weights, dim=1)


def total_of(contexts, weights):
    """A number that depends on all of them."""
    number = torch.arange(1, 1 + contexts.numel(), dtype=contexts.dtype).sin().view_as(contexts)
    other = torch.arange(1, 1 + weights.numel(), dtype=contexts.dtype).cos().view_as(weights)
    return (number * contexts).sum() + (other * weights).sum()


def gradients_of(total, tensors):
    found = torch.autograd.grad(total, tensors, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


@pytest.mark.parametrize("training", [True, False], ids=["training", "search"])
@pytest.mark.parametrize("name", FORMS)
def test_every_attention_is_its_formula_with_every_gradient(name, training):
    form = form_of(name)
    attention = built(form).train(training)
    states, queries = inputs()
    parameters = dict(attention.named_parameters())
    oracle = AttentionOracle(form, parameters, training=training)
    tensors = [states, queries, *parameters.values()]
    found, looked = passed(attention, states, queries)
    exact, right = expected(oracle, states, queries)
    torch.testing.assert_close(found, exact, rtol=0, atol=1e-12)
    torch.testing.assert_close(looked, right, rtol=0, atol=1e-12)
    pairs = zip(
        gradients_of(total_of(found, looked), tensors),
        gradients_of(total_of(exact, right), tensors),
        strict=True,
    )
    for gradient, other in pairs:
        assert gradient.isfinite().all()
        torch.testing.assert_close(gradient, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", FORMS)
@torch.no_grad()
def test_hypotheses_that_are_reordered_go_on_as_if_each_were_alone(name):
    attention = built(form_of(name)).eval()
    states, queries = inputs()
    memory = memory_of(attention, states)
    picked = torch.tensor([1, 0, 0, 2, 1, 1])  # two of each sentence, by the step that differs
    start = attention.initial_state(memory)
    options = [attention(queries[n], memory, start)[2] for n in range(3)]
    rows = torch.arange(3).repeat_interleave(2)
    choices = zip(*options, strict=True)
    state = tuple(torch.stack(each)[picked, rows] for each in choices)
    query = queries[3].repeat_interleave(2, dim=0) * torch.tensor([1, -1]).repeat(3).unsqueeze(1)
    context, weights, _ = attention(query, memory, state)
    for row, (step, sentence) in enumerate(zip(picked, rows, strict=True)):
        own = options[step]
        alone = queries[3].clone()
        alone[sentence] = query[row]
        one, looked, _ = attention(alone, memory, own)
        torch.testing.assert_close(context[row], one[sentence], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[row], looked[sentence], rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False], ids=["training", "search"])
@pytest.mark.parametrize("name", FORMS)
@torch.no_grad()
def test_weights_sum_to_one_or_less_where_monotonic_and_padding_has_none(name, training):
    form = form_of(name)
    attention = built(form, torch.float32).train(training)
    contexts, weights = passed(attention, *inputs(torch.float32))
    sums = weights.sum(dim=-1)
    assert (weights >= 0).all()
    if form.kind == "monotonic":
        assert (sums <= 1 + 1e-6).all()
        assert (sums.diff(dim=0) <= 1e-6).all(), "what is lost does not come back"
        assert not contexts[weights.sum(dim=(-2, -1)) == 0].any()
    else:
        torch.testing.assert_close(sums, torch.ones_like(sums))
    for sentence, length in enumerate(LENGTHS):
        assert not weights[:, sentence, :, length:].any()


@pytest.mark.parametrize("name", FORMS)
def test_bfloat16_products_leave_weights_in_float32_and_gradients_finite(name):
    attention = built(form_of(name), torch.float32).train()
    states, queries = inputs(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        contexts, weights = passed(attention, states, queries)
    assert weights.dtype == torch.float32
    exact = passed(attention, states, queries)[1]
    assert (weights - exact).abs().max() < 0.1
    total_of(contexts.float(), weights).backward()
    assert states.grad.isfinite().all()


@pytest.mark.parametrize("name", FORMS)
@torch.no_grad()
def test_the_weights_are_those_of_each_head(name):
    form = form_of(name)
    attention = built(form).eval()
    states, queries = inputs()
    _, weights = passed(attention, states, queries)
    assert weights.shape == (NUM_STEPS, len(LENGTHS), form.heads, WIDTH)
    if form.heads > 1:
        assert not torch.allclose(weights[0, :, 0], weights[0, :, 1])
