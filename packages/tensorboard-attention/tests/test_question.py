"""The one question of capturing: is the result of a softmax multiplied with values, and over which positions?"""

import warnings

import pytest
import torch
from torch import nn

from tensorboard_attention import capture

B, H, S, T, D = 2, 4, 7, 5, 16


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


class Calls(nn.Module):
    """A model that is a function, with layers of its own."""

    def __init__(self, function, **layers):
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *given):
        return self.function(self, *given)


def captured(model, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with capture(model) as found:
            model(*given)
    return found


def linear_attention(self, image):
    """Of denoising-diffusion-pytorch: queries over channels, keys over places."""
    q, k, v = (each.flatten(2).unflatten(1, (H, -1)) for each in self.layer(image).chunk(3, dim=1))
    context = torch.einsum("bhdn,bhen->bhde", k.softmax(dim=-1), v)
    return torch.einsum("bhde,bhdn->bhen", context, q.softmax(dim=-2))


def efficient_attention(self, x):
    """Shen et al., 2021, https://arxiv.org/abs/1812.01243."""
    q, k, v = (each.unflatten(2, (H, -1)).transpose(1, 2) for each in self.layer(x).chunk(3, dim=2))
    return q.softmax(dim=-1) @ (k.softmax(dim=-2).transpose(-2, -1) @ v)


def mixture_of_softmaxes(self, x):
    """Yang et al., 2018, https://arxiv.org/abs/1711.03953."""
    prior = self.prior(x).softmax(dim=-1)
    chances = self.layer(x).unflatten(2, (prior.size(-1), -1)).softmax(dim=-1)
    return (prior.unsqueeze(-1) * chances).sum(dim=2)


def experts(self, x):
    return torch.einsum("btk,btkd->btd", self.prior(x).softmax(dim=-1), self.layer(x).unflatten(2, (5, -1)))


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (Calls(linear_attention, layer=nn.Conv2d(8, 3 * D, 1)), (B, 8, 5, 5)),
        (Calls(efficient_attention, layer=nn.Linear(D, 3 * D)), (B, S, D)),
        (Calls(lambda self, image: image * image.softmax(dim=-1)), (B, 3, 5, 5)),
        (Calls(lambda self, image: image.softmax(dim=-1)), (B, 3, 5, 5)),
        (Calls(mixture_of_softmaxes, prior=nn.Linear(D, 5), layer=nn.Linear(D, 5 * 9)), (B, 5, D)),
        (Calls(experts, prior=nn.Linear(D, 5), layer=nn.Linear(D, 5 * D)), (B, 5, D)),
        (Calls(lambda self, x: self.layer(x).softmax(dim=-1), layer=nn.Linear(D, S)), (B, S, D)),
    ],
    ids=["linear", "efficient", "gate", "image", "mixture of softmaxes", "experts", "classes"],
)
def test_a_softmax_over_features_or_without_values_is_no_attention(model, shape):
    found = captured(model, torch.randn(shape))
    assert found.layers == []
    assert len(found.problems) == 1


PRODUCTS = {
    "matmul": torch.matmul,
    "bmm": torch.bmm,
    "baddbmm": lambda weights, v: torch.baddbmm(torch.zeros(1), weights, v),
    "einsum": lambda weights, v: torch.einsum("...ts,...sd->...td", weights, v),
    "values first": lambda weights, v: v.transpose(1, 2) @ weights.transpose(1, 2),
    "sum": lambda weights, v: (weights[..., None] * v[:, None]).sum(dim=2),
    "expanded": lambda weights, v: (weights[..., None].expand(*weights.shape, D) * v[:, None]).sum(2),
    "after dropout": lambda weights, v: nn.functional.dropout(weights, 0.5) @ v,
    "rounded": lambda weights, v: weights.to(torch.bfloat16).float() @ v,
    "masked again": lambda weights, v: (weights * torch.ones(T, S).tril(2)) @ v,
}  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("dim", [1, 2])
def test_whatever_multiplies_weights_with_values(product, dim):
    told = []

    def attend(self, x, memory):
        scores = x @ memory.transpose(1, 2)
        weights = scores.softmax(2) if dim == 2 else scores.transpose(1, 2).softmax(1).transpose(1, 2)
        told.append(weights)
        return PRODUCTS[product](weights, memory)

    (layer,) = captured(Calls(attend), torch.randn(B, T, D), torch.randn(B, S, D)).layers
    torch.testing.assert_close(layer.weights[:, 0], told[0])
    assert layer.is_cross


def test_a_sink_that_is_cut_before_the_product_is_no_column():
    def attend(self, x):
        scores = torch.cat([x @ x.transpose(1, 2), torch.zeros(B, S, 1)], dim=-1)
        self.weights = scores.softmax(dim=-1)[..., :-1]
        return self.weights @ x

    model = Calls(attend)
    (layer,) = captured(model, torch.randn(B, S, D)).layers
    torch.testing.assert_close(layer.weights[:, 0], model.weights)
    assert not layer.is_cross


@pytest.mark.parametrize("length", [S, T])
def test_self_is_what_comes_from_one_input_and_cross_what_does_not(length):
    """The sizes are those of the other one, too, and both are given by names that say nothing."""
    model = Calls(
        lambda self, one, two: (self.q(one) @ self.k(two).transpose(1, 2)).softmax(-1) @ self.v(two),
        **{name: nn.Linear(D, D) for name in "qkv"},
    )
    x = torch.randn(B, length, D)
    assert not captured(model, x, x).layers[0].is_cross
    assert captured(model, x, torch.randn(B, length, D)).layers[0].is_cross


def test_memory_that_a_prompt_is_added_to_is_self_attention():
    def attend(self, x):
        keys = torch.cat([self.prompt.expand(len(x), -1, -1), x], dim=1)
        return (x @ keys.transpose(1, 2)).softmax(dim=-1) @ keys

    model = Calls(attend)
    model.prompt = nn.Parameter(torch.randn(3, D))
    (layer,) = captured(model, torch.randn(B, S, D)).layers
    assert layer.weights.shape == (B, 1, S, S + 3)
    assert not layer.is_cross


def test_two_parts_of_one_batch_are_two_sequences():
    model = Calls(lambda self, one, two: (one @ two.transpose(1, 2)).softmax(dim=-1) @ two)
    batch = torch.randn(2, B, S, D)
    for first, second in ((0, 1), (0, 0)):
        with warnings.catch_warnings(), capture(model) as found:
            model(batch[first], batch[second])
        assert found.layers[0].is_cross is (first != second)


def test_a_memory_that_the_model_made_before_is_known_by_what_it_was_made_of():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(D, D), Calls(lambda self, x, y: (x @ y.mT).softmax(-1) @ y)

    model, x = Model(), torch.randn(B, S, D)
    with warnings.catch_warnings(), capture(model) as found:
        model.decoder(x, model.encoder(x))
    assert not found.layers[0].is_cross
