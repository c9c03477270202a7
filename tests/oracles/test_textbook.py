"""experiment=textbook against the formulas of Dive into Deep Learning: losses, dropout and gradients."""

import math

import pytest
import torch
from hydra import compose, initialize_config_dir
from torch import nn

from hydra_checked.program import HYDRA_BASE
from seq2seq.run.building import build
from tests.conftest import ROOT
from tests.small import batch_of

SIZE, NUM_WORDS = 6, 13
SIZES = [
    f"model.embedding_size={SIZE}", f"model.encoder.hidden_size={SIZE}", f"model.decoder.hidden_size={SIZE}",
    f"model.decoder.attention.score.hidden_size={SIZE}",
]  # fmt: skip


def composed(*overrides):
    with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
        return compose("config", ["experiment=textbook", *overrides])


def built(*overrides):
    torch.manual_seed(5)
    model = build(composed(*overrides).model)(source_vocab_size=NUM_WORDS, target_vocab_size=NUM_WORDS + 2)
    return model.train()


def masked_out(vectors, p, training=True, inplace=False):
    """Dropout that leaves out the same places of every tensor of a shape."""
    if not p:
        return vectors
    pattern = torch.arange(vectors.numel()).mul(7).add(3).remainder(5).view(vectors.shape)
    return vectors * (pattern != 0) / (1 - p)


def gru(inputs, state, w_x, w_h, b_x, b_h):
    """r, z = sigmoid(...), n = tanh(W x + b + r (U h + c)), h' = (1 - z) n + z h."""
    of_inputs, of_state = (w_x @ inputs + b_x).chunk(3), (w_h @ state + b_h).chunk(3)
    reset, update = (1 / (1 + torch.exp(-(of_inputs[i] + of_state[i]))) for i in range(2))
    return (1 - update) * torch.tanh(of_inputs[2] + reset * of_state[2]) + update * state


def textbook_loss(w, batch, p):
    """The mean cross-entropy of a target token, token by token.

    The encoder's last states are those of the last real token; the book's go on over padding.
    """

    def encoder_cell(layer):
        return [
            w[f"encoder.layers.{layer}.{name}_l0"]
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]

    def decoder_cell(layer):
        name = f"decoder.stack.cells.{layer}"
        own = w[f"{name}.input_gates.weight"]
        w_x = own if layer else torch.cat([w["decoder.context_gates.weight"], own], dim=1)
        return (
            w_x,
            w[f"{name}.state_gates.weight"],
            w[f"{name}.input_gates.bias"],
            w[f"{name}.state_gates.bias"],
        )

    num, width = batch.source.ids.shape
    between = masked_out(torch.ones(num, width, SIZE, dtype=torch.float64), p)
    of_weights = masked_out(torch.ones(num, 1, width, dtype=torch.float64), p)
    of_step = masked_out(torch.ones(num, SIZE, dtype=torch.float64), p)
    losses = []
    for row in range(num):
        states, outputs = [torch.zeros(SIZE, dtype=torch.float64)] * 2, []
        for place, token in enumerate(batch.source.ids[row, : batch.source.lengths[row]].tolist()):
            lower = gru(w["source_embedding.weight"][token], states[0], *encoder_cell(0))
            upper = gru(lower * between[row, place], states[1], *encoder_cell(1))
            states = [lower, upper]
            outputs.append(upper)
        keys = torch.stack(outputs)
        pairs = zip(batch.target_input[row].tolist(), batch.target_output[row].tolist(), strict=True)
        for token, expected in [*pairs][: batch.target_lengths[row]]:
            score = "decoder.attention.score"
            hidden = torch.tanh(
                w[f"{score}.query_projection.weight"] @ states[1]
                + keys @ w[f"{score}.key_projection.weight"].T
            )
            powers = torch.exp(hidden @ w[f"{score}.score_weight"])
            weights = powers / powers.sum() * of_weights[row, 0, : len(keys)]
            inputs = torch.cat([weights @ keys, w["decoder.embedding.weight"][token]])
            lower = gru(inputs, states[0], *decoder_cell(0))
            states = [lower, gru(lower * of_step[row], states[1], *decoder_cell(1))]
            logits = w["decoder.output.weight"] @ states[1] + w["decoder.output.bias"]
            losses.append(torch.log(torch.exp(logits).sum()) - logits[expected])
    return sum(losses) / len(losses)


def test_losses_and_gradients_are_those_of_the_formulas_dropout_included(monkeypatch):
    monkeypatch.setattr(nn.functional, "dropout", masked_out)
    model = built(*SIZES).double()
    batch = batch_of([[8, 9], [4, 5, 6, 7]], [[7, 8, 9, 10], [5, 6]])  # the longest first, as in the steps
    logits = model.decoder.output(model(batch)[0])
    loss = nn.functional.cross_entropy(
        logits[batch.target_is_token], batch.target_output[batch.target_is_token]
    )
    loss.backward()
    copies = {name: value.detach().clone().requires_grad_() for name, value in model.named_parameters()}
    expected = textbook_loss(copies, batch, 0.2)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-12)
    assert loss.item() != pytest.approx(textbook_loss(copies, batch, 0.0).item(), abs=1e-6)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, copies[name].grad, rtol=0, atol=1e-11, msg=name)


def test_sizes_and_first_values_are_those_of_the_book():
    config = composed()
    assert (config.data.batch_size, config.optimizer.lr, config.trainer.max_epochs) == (128, 0.005, 30)
    assert config.trainer.gradient_clip_val == 1.0
    model = built()
    decoder, (lower, upper) = model.decoder, model.encoder.layers
    joint = torch.cat([decoder.stack.cells[0].input_gates.weight, decoder.context_gates.weight], dim=1)
    score = decoder.attention.score
    matrices = [
        joint, decoder.stack.cells[1].input_gates.weight, decoder.stack.cells[1].state_gates.weight, score.query_projection.weight,
        score.score_weight[None], decoder.output.weight, lower.weight_ih_l0, upper.weight_hh_l0,
    ]  # fmt: skip
    assert joint.shape == (3 * 256, 2 * 256)
    for matrix in matrices:
        bound = math.sqrt(6 / sum(matrix.shape))
        assert 0.95 * bound < matrix.abs().max() <= bound
    assert float(decoder.embedding.weight.detach()[2:].std()) == pytest.approx(1, abs=0.05)
