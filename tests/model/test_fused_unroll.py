import pytest
import torch
from torch.autograd import gradcheck

from seq2seq.model.fused_unroll import AttentionWeights, fused_unroll
from seq2seq.model.gru import GRULayer
from tests.models import model_of

SHAPES = [{"num_layers": 1}, {"num_layers": 3, "bidirectional": False, "encoder_hidden_size": 6}]


def run(model, batch, method):
    """Features, weights, and the gradient of every parameter for a mixed loss of both."""
    model.zero_grad()
    source = batch.source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    result = getattr(model.decoder, method)(batch.target_input, memory)
    generator = torch.Generator().manual_seed(3)
    loss = sum(
        (output * torch.rand(output.shape, generator=generator, dtype=output.dtype)).sum()
        for output in (result.features, result.weights)
    )
    loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return result, gradients


@pytest.mark.parametrize("readout", [None, 5])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape['num_layers']}-layers")
def test_the_fused_pass_equals_the_stepwise_one_with_every_gradient(batch, shape, readout):
    model = model_of(**shape, readout_size=readout)
    fused, fused_gradients = run(model, batch, "unroll")
    stepwise, stepwise_gradients = run(model, batch, "unroll_stepwise")
    torch.testing.assert_close(fused.features, stepwise.features, rtol=0, atol=1e-12)
    torch.testing.assert_close(fused.weights, stepwise.weights, rtol=0, atol=1e-12)
    assert fused_gradients.keys() == stepwise_gradients.keys()
    for name, gradient in stepwise_gradients.items():
        torch.testing.assert_close(fused_gradients[name], gradient, rtol=1e-9, atol=1e-12)


def test_float32_is_as_exact_as_the_loop(batch):
    shape = {"num_layers": 2, "bidirectional": False, "encoder_hidden_size": 6}
    _, exact = run(model_of(**shape), batch, "unroll_stepwise")
    single = model_of(**shape).float()
    (_, fused), (_, stepwise) = run(single, batch, "unroll"), run(single, batch, "unroll_stepwise")
    for name, gradient in exact.items():
        error, of_loop = (
            float((found[name] - gradient).abs().max() / gradient.abs().max())
            for found in (fused, stepwise)
        )
        assert error <= max(1e-5, 2 * of_loop), name


def operands(num_layers, masked):
    torch.manual_seed(1)
    batch_size, steps, positions, hidden, memory, size = 2, 3, 4, 3, 2, 5
    layers = [GRULayer(hidden, hidden).double() for _ in range(num_layers)]

    def leaf(*shape):
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    tensors = [
        leaf(batch_size, steps, 3 * hidden),
        leaf(batch_size, positions, memory),
        leaf(batch_size, positions, size),
        leaf(size, hidden),
        leaf(size),
        leaf(3 * hidden, memory),
        *(leaf(batch_size, hidden) for _ in layers),
    ]
    is_token = torch.arange(positions) < torch.tensor([[4], [2]])
    masks = [
        torch.randint(0, 2, (batch_size, steps, hidden)).double() if masked else None
        for _ in layers[1:]
    ]

    def operation(gates, states, keys, query, score, context, *initial):
        weights = AttentionWeights(query, score, context)
        return fused_unroll(gates, states, keys, is_token, initial, weights, layers, masks)

    return operation, tensors, layers, masks


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_the_gradients_are_those_of_finite_differences(num_layers, masked):
    operation, tensors, _, _ = operands(num_layers, masked)
    assert gradcheck(operation, tensors)


def test_the_layers_own_gradients_are_those_of_finite_differences():
    operation, tensors, layers, _ = operands(2, masked=True)
    parameters = [*layers[0].state_gates.parameters(), *layers[1].parameters()]
    constants = [tensor.detach() for tensor in tensors]

    def of_parameters(*_):
        return operation(*constants)

    assert gradcheck(of_parameters, parameters)


def test_a_dropout_mask_multiplies_the_input_of_the_layer_above():
    operation, tensors, _, masks = operands(2, masked=True)
    with_mask = operation(*tensors)[0]
    masks[0].fill_(1)
    assert not torch.equal(operation(*tensors)[0], with_mask)
    masks[0].fill_(0)
    silent = operation(*tensors)[0]
    tensors[0].data += 1  # reaches the top layer through the attention's query alone
    torch.testing.assert_close(operation(*tensors)[0], silent)


def test_no_activation_of_steps_times_positions_times_hidden_size_is_kept(batch):
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        model = model_of(attention_size=7)
        run(model, batch, "unroll")
    steps, positions = batch.target_input.shape[1], batch.source.ids.shape[1]
    assert not [shape for shape in kept if shape[1:] == (steps, positions, 7)]
    assert not [shape for shape in kept if shape[-2:] == (positions, 7) and len(shape) > 3]


@pytest.mark.parametrize("changes", [{"score": "dot"}, {"attention_dropout": 0.1}])
def test_what_the_fused_pass_does_not_know_goes_step_by_step(batch, changes, monkeypatch):
    model = model_of(**changes)
    called = []
    original = model.decoder.unroll_stepwise
    monkeypatch.setattr(
        model.decoder, "unroll_stepwise", lambda *a: called.append(1) or original(*a)
    )
    run(model, batch, "unroll")
    assert called == [1]


def test_mixed_precision_computes_the_recurrence_in_float32(batch):
    model = model_of(num_layers=2, bidirectional=False, encoder_hidden_size=6).float()
    _, exact = run(model, batch, "unroll")
    with torch.autocast("cpu", torch.bfloat16):
        result, gradients = run(model, batch, "unroll")
    assert result.weights.dtype == torch.float32
    for name, gradient in exact.items():
        assert (gradients[name] - gradient).abs().max() <= 0.1 * gradient.abs().max() + 1e-3, name
