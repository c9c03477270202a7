"""FlexAttention: its weights are exact, as modules call it and as a model of transformers does."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tensorboard_attention import capture

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{each}")
    for each in ("flex_attention called without", "_compile flag", "`torch.jit")
]
B, H, T, D = 2, 4, 40, 8
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


class Flexible(nn.Module):
    """Causal attention in a window of 16 with slopes (ALiBi), whose keys two heads share."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(H * D, 2 * H * D)

    def parts(self, states):
        query, key, value = self.layer(states).split([H * D, H * D // 2, H * D // 2], dim=-1)
        return [each.unflatten(2, (-1, D)).transpose(1, 2) for each in (query, key, value)]

    def forward(self, states):
        mask = create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 16), None, None, T, T, device="cpu")
        parts = self.parts(states)
        return flex_attention(
            *parts, lambda score, b, h, q, k: score - SLOPES[h] * (q - k), mask, enable_gqa=True
        )

    def weights(self, states):
        """The same, from its definition."""
        query, key, _ = self.parts(states)
        away = torch.arange(T)[:, None] - torch.arange(T)
        scores = query @ key.repeat_interleave(2, dim=1).transpose(-2, -1) * D**-0.5
        scores = scores - SLOPES[:, None, None] * away
        return scores.masked_fill((away < 0) | (away >= 16), -torch.inf).softmax(dim=-1)


def test_weights_of_flex_attention_are_exact_with_scores_masks_and_shared_keys():
    torch.manual_seed(0)
    model, states = Flexible(), torch.randn(B, T, H * D)
    with capture(model) as found:
        inside = model(states)
    (layer,) = found.layers
    assert not layer.is_cross
    with torch.no_grad():
        torch.testing.assert_close(layer.weights, model.weights(states), atol=1e-6, rtol=0)
        values = model.parts(states)[2].repeat_interleave(2, dim=1)
        torch.testing.assert_close(inside, layer.weights @ values)


def test_a_model_of_transformers_with_flex_attention_has_the_weights_of_eager():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=30, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    ids, mask = torch.randint(3, 30, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    found = {}
    for name in ("eager", "flex_attention"):
        torch.manual_seed(0)
        model = transformers.LlamaModel._from_config(config, attn_implementation=name).eval()
        with capture(model) as captured:
            model(input_ids=ids, attention_mask=mask)
        assert not captured.problems
        found[name] = [np.stack([each.weights[0] for each in captured.layers]), np.stack([each.weights[1, :, :6] for each in captured.layers])]  # fmt: skip
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_effects_of_heads_of_flex_attention_are_refused_by_name():
    model, states = Flexible(), torch.randn(B, T, H * D)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with capture(model, loss=lambda: model(states).square().mean()) as found:
            model(states)
    assert found.layers[0].effects is None
    assert any("FlexAttention" in str(each.message) for each in said)
