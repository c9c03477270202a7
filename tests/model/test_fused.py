from functools import partial

import pytest
import torch
from torch.autograd import gradcheck

from seq2seq.attention.scores import AdditiveScore
from seq2seq.model.fused import choice
from seq2seq.model.fused.attention import AdditivePass, DotPass, FusedScore
from seq2seq.model.fused.decoder import unroll_decoder
from seq2seq.model.fused.recurrence import unroll_layer
from seq2seq.model.fused.steps import Steps
from seq2seq.model.layers import GRULayer
from tests.models import model_of


def operands(num_layers, masked, dot=False):
    torch.manual_seed(1)
    positions, hidden, memory, size = 4, 3, 2, 3 if dot else 5
    steps = Steps(torch.tensor([2, 3, 3]), 3)
    layers = [GRULayer(hidden, hidden).double() for _ in range(num_layers)]

    def leaf(*shape):
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    tensors = [
        leaf(steps.num_tokens, 3 * hidden),
        leaf(3, positions, memory),
        leaf(3, positions, size),
        leaf(size, hidden),
        leaf(size),
        leaf(3 * hidden, memory),
        *(leaf(3, hidden) for _ in layers),
    ]
    is_token = torch.arange(positions) < torch.tensor([[4], [2], [1]])
    masks = [
        torch.randint(0, 2, (steps.num_tokens, hidden)).double() if masked else None
        for _ in layers[1:]
    ]

    def operation(gates, states, keys, query, score, context, *initial):
        attention = FusedScore(AdditivePass, (query, score))
        if dot:
            attention = FusedScore(partial(DotPass, is_scaled=True))
        return unroll_decoder(
            gates, states, keys, is_token, initial, attention, context, layers, masks, steps
        )

    return operation, tensors, layers, masks


@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_the_gradients_are_those_of_finite_differences(num_layers, masked, dot):
    operation, tensors, _, _ = operands(num_layers, masked, dot)
    assert gradcheck(operation, tensors, fast_mode=True)


def test_the_layers_own_gradients_are_those_of_finite_differences():
    operation, tensors, layers, _ = operands(2, masked=True)
    parameters = [*layers[0].state_gates.parameters(), *layers[1].parameters()]
    constants = [tensor.detach() for tensor in tensors]

    def of_parameters(*_):
        return operation(*constants)

    assert gradcheck(of_parameters, parameters, fast_mode=True)


def test_a_layers_gradients_are_those_of_finite_differences():
    torch.manual_seed(2)
    steps = Steps(torch.tensor([1, 4, 2]), 5)
    shapes = [(steps.num_tokens, 9), (3, 3), (9, 3), (9,)]
    tensors = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in shapes]
    assert gradcheck(lambda *tensors: unroll_layer(*tensors, steps), tensors, fast_mode=True)


def test_a_layer_is_a_gru_cell_repeated():
    torch.manual_seed(2)
    cell = torch.nn.GRUCell(2, 3)
    inputs, state, steps = torch.randn(4, 2), torch.zeros(1, 3), Steps(torch.tensor([4]), 4)
    gates = inputs @ cell.weight_ih.T + cell.bias_ih
    states = unroll_layer(gates, state, cell.weight_hh, cell.bias_hh, steps)
    for row, expected in zip(inputs, states, strict=True):
        state = cell(row.unsqueeze(0), state)
        torch.testing.assert_close(state[0], expected)


def test_packing_keeps_real_tokens_and_unpacking_puts_them_back():
    lengths, padded = torch.tensor([2, 4, 1]), torch.arange(1, 16).view(3, 5)
    steps = Steps(lengths, 5)
    assert steps.counts == [3, 2, 1, 1]
    assert steps.pack(padded).tolist() == [6, 1, 11, 7, 2, 8, 9]
    is_token = torch.arange(5) < lengths[:, None]
    assert torch.equal(steps.unpack(steps.pack(padded)), padded * is_token)
    assert torch.equal(steps.unpack_ordered(steps.pack(padded)), (padded * is_token)[[1, 0, 2]])
    assert steps.last(steps.pack(padded)).tolist() == [2, 9, 11]
    assert steps.unpack(steps.reverse(steps.pack(padded))).tolist() == [
        [2, 1, 0, 0, 0],
        [9, 8, 7, 6, 0],
        [11, 0, 0, 0, 0],
    ]


def test_a_dropout_mask_multiplies_the_input_of_the_layer_above():
    operation, tensors, _, masks = operands(2, masked=True)
    with_mask = operation(*tensors)[0]
    masks[0].fill_(1)
    assert not torch.equal(operation(*tensors)[0], with_mask)
    masks[0].fill_(0)
    silent = operation(*tensors)[0]
    tensors[0].data += 1  # reaches the top layer through the attention's query alone
    torch.testing.assert_close(operation(*tensors)[0], silent)


def features_of(model, batch):
    source = batch.source
    arguments = (source.ids, source.lengths, source.is_token, batch.target_input)
    return model(*arguments).features


def test_no_activation_of_steps_times_positions_times_hidden_size_is_kept(batch):
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        features_of(model_of(attention_size=7), batch).sum().backward()
    steps, positions = batch.target_input.shape[1], batch.source.ids.shape[1]
    assert not [shape for shape in kept if shape[1:] == (steps, positions, 7)]
    assert not [shape for shape in kept if shape[-2:] == (positions, 7) and len(shape) > 3]


class Own(AdditiveScore):
    """A score of somebody else."""


@pytest.mark.parametrize(
    ("changes", "is_plain"),
    [
        ({}, False),
        ({"score": "scaled_dot"}, False),
        ({"score": "gaussian"}, True),
        ({"attention_dropout": 0.1}, True),
    ],
)
def test_what_the_fused_pass_does_not_know_goes_step_by_step(batch, changes, is_plain, monkeypatch):
    called, original = [], choice.unroll_loop
    monkeypatch.setattr(choice, "unroll_loop", lambda *a: called.append(1) or original(*a))
    features_of(model_of(**changes), batch)
    assert bool(called) == is_plain


def test_a_subclass_of_a_known_score_goes_step_by_step(batch, monkeypatch):
    model, called, original = model_of(), [], choice.unroll_loop
    model.decoder.attention.score.__class__ = Own
    monkeypatch.setattr(choice, "unroll_loop", lambda *a: called.append(1) or original(*a))
    features_of(model, batch)
    assert called == [1]


def test_in_a_shorter_format_the_loop_has_the_same_gradients_each_time_it_is_undone(batch):
    model = model_of(decoder="conditional").float()
    with torch.autocast("cpu", torch.bfloat16):
        total = features_of(model, batch).sum()
    weights = list(model.decoder.word_layer.parameters())
    first = torch.autograd.grad(total, weights, retain_graph=True)
    assert all(map(torch.equal, first, torch.autograd.grad(total, weights)))
    exact = torch.autograd.grad(features_of(model, batch).sum(), weights)
    torch.testing.assert_close(first, exact, rtol=0.02, atol=0.05)
