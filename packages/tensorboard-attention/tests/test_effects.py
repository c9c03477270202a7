"""The effect of a head is what the loss gains without the largest weight of each of its rows: by hand it is the same."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tensorboard_attention import capture
from tensorboard_attention.event_files import read_log_folder, read_steps

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, "vocab_size": 40, "pad_token_id": 0,
}  # fmt: skip


def without_largest(weights):
    """In a loop over rows, in numpy."""
    for row in weights.reshape(-1, weights.shape[-1]):
        if (row > 0).sum() > 1:
            row[row.argmax()] = 0
            row[:] = row / row.sum()
    return weights


def by_hand(removed):
    """An attention of transformers, which removes weights of one layer and head."""

    def attend(module, query, key, value, attention_mask, scaling=None, **_):
        groups = query.size(1) // key.size(1)
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
        scores = query @ key.transpose(2, 3) * (query.size(-1) ** -0.5 if scaling is None else scaling)
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = scores.softmax(dim=-1)
        if removed and removed[0] is module:
            changed = without_largest(weights[:, removed[1]].detach().numpy().copy())
            weights = weights.clone()
            weights[:, removed[1]] = torch.from_numpy(changed)
        return (weights @ value).transpose(1, 2).contiguous(), weights

    return attend


def loss_of(output, ids):
    return F.cross_entropy(output.logits.flatten(0, 1), ids.flatten())


@pytest.mark.parametrize(
    ("family", "kind"),
    [("BertForMaskedLM", "eager"), ("LlamaForCausalLM", "sdpa"), ("LlamaForCausalLM", "eager")],
)
def test_effects_equal_removal_by_hand_in_every_head(family, kind, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    make = getattr(transformers, family)
    more = {"num_key_value_heads": 2} if "Llama" in family else {}
    removed = []
    AttentionInterface.register("by_hand", by_hand(removed))
    AttentionMaskInterface.register("by_hand", eager_mask)
    torch.manual_seed(0)
    model, brute = (make(make.config_class(**SIZES, **more, attn_implementation=each)).eval() for each in (kind, "by_hand"))  # fmt: skip
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(8)
    brute.load_state_dict(model.state_dict())
    ids = torch.randint(1, 40, (2, 6))
    model.train()
    with capture(model, tmp_path, 1, loss=lambda: loss_of(model(input_ids=ids), ids)) as found:
        model(input_ids=ids)
    assert model.training
    assert found.problems == []
    with torch.no_grad():
        before = loss_of(brute(input_ids=ids), ids)
        for layer in found.layers:
            for head in range(4):
                removed[:] = [brute.get_submodule(layer.module), head]
                expected = float(loss_of(brute(input_ids=ids), ids) - before)
                assert abs(layer.effects[head] - expected) < 1e-5
                assert abs(expected) > 1e-4
    (record,) = read_steps(tmp_path, "probe 1/self-attention", most=1, most_bytes=1 << 20).values()
    assert record.head_effects == tuple(each for layer in found.layers for each in layer.effects)
    (view, _) = read_log_folder(tmp_path)["views"]
    np.testing.assert_array_equal(view["frames"][0]["head_effects"], record.head_effects)


def test_effects_of_the_modules_of_torch():
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)

    def loss():
        return attention(x, memory, memory, need_weights=False)[0].square().mean()

    with capture(attention, loss=loss) as found:
        attention(x, memory, memory)
    (layer,) = found.layers
    values = F.linear(memory, attention.in_proj_weight[32:], attention.in_proj_bias[32:])
    values = values.unflatten(2, (4, 4)).transpose(1, 2)
    with torch.no_grad():
        for head in range(4):
            weights = layer.weights.clone()
            weights[:, head] = torch.from_numpy(without_largest(weights[:, head].numpy().copy()))
            changed = attention.out_proj((weights @ values).transpose(1, 2).flatten(2)).square().mean()
            assert abs(layer.effects[head] - float(changed - loss())) < 1e-6


def test_a_loss_of_another_batch_and_weights_that_are_summed_are_refused_by_name():
    class Summed(nn.Module):
        def forward(self, x):
            weights = (x @ x.transpose(1, 2)).softmax(dim=-1)
            return (weights[..., None] * x[:, None]).sum(dim=2)

    model, x = Summed(), torch.randn(2, 5, 16)
    for other, said in ((x, "otherwise than by a product"), (x[:, :3], "runs otherwise for the loss")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with capture(model, loss=lambda other=other: model(other).sum()) as found:
                model(x)
        assert len(found.problems) == 1
        assert said in found.problems[0]
        assert found.layers[0].effects is None
