import sys

import pytest
import torch

from seq2seq.attention.pooling import Attention
from seq2seq.attention.registry import SCORES, build_score
from seq2seq.attention.scores import (
    AdditiveScore,
    BilinearScore,
    ConstantScore,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    Score,
)

BUILT_IN = {
    "additive": AdditiveScore,
    "average": ConstantScore,
    "bilinear": BilinearScore,
    "dot": DotScore,
    "gaussian": GaussianScore,
    "scaled_dot": ScaledDotScore,
}

COSINE = """\
from torch import nn
from torch.nn.functional import normalize

class Cosine(nn.Module):
    needs_equal_sizes = True

    def project_keys(self, keys):
        return normalize(keys, dim=-1)

    def forward(self, queries, keys, projected_keys=None):
        keys = self.project_keys(keys) if projected_keys is None else projected_keys
        return normalize(queries, dim=-1) @ keys.mT

def cosine(query_size, key_size, hidden_size):
    return Cosine()
"""


def sizes(query_size=6, key_size=6, hidden_size=4):
    return {"query_size": query_size, "key_size": key_size, "hidden_size": hidden_size}


@pytest.fixture
def install_score(install_part):
    """Install a package that brings one score."""
    return lambda package, entry, code: install_part(package, SCORES.group, entry, code)


@pytest.mark.parametrize(("name", "kind"), BUILT_IN.items())
def test_a_built_in_name_builds_its_score_of_the_sizes_asked_for(name, kind):
    score = build_score(name, **sizes())
    assert type(score) is kind
    assert isinstance(score, Score)
    queries, keys = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    assert Attention(score)(queries, keys, keys)[0].shape == (2, 3, 6)


def test_additive_and_bilinear_are_built_for_different_sizes():
    additive = build_score("additive", **sizes(query_size=3, key_size=5, hidden_size=7))
    shapes = {name: tuple(parameter.shape) for name, parameter in additive.named_parameters()}
    assert sorted(shapes.values()) == [(7,), (7, 3), (7, 5)]
    bilinear = build_score("bilinear", **sizes(query_size=3, key_size=5))
    assert bilinear(torch.randn(1, 2, 3), torch.randn(1, 4, 5)).shape == (1, 2, 4)


def test_gaussian_learns_its_width_from_the_root_of_the_size_on():
    gaussian = build_score("gaussian", **sizes(query_size=16))
    (inverse_width,) = gaussian.parameters()
    assert inverse_width.item() == 0.25


def test_names_are_the_built_in_ones():
    assert SCORES.names() == sorted(BUILT_IN)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("aditive", "'additive'"), ("scaled-dot", "'scaled_dot'"), ("gausian", "'gaussian'")],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_with_all(wrong, nearest):
    with pytest.raises(ValueError, match=f"{wrong}.*did you mean {nearest}") as caught:
        build_score(wrong, **sizes())
    assert all(name in str(caught.value) for name in BUILT_IN)


def test_a_name_near_to_nothing_is_answered_with_all():
    with pytest.raises(ValueError, match="'xyz'; known scores: additive, average, bilinear"):
        build_score("xyz", **sizes())


def test_a_score_of_another_package_plugs_in_within_fifteen_lines(install_score):
    install_score("cosine-score", "cosine = cosine_score:cosine", COSINE)
    assert len(COSINE.splitlines()) <= 15
    assert "cosine" in SCORES.names()
    score = build_score("cosine", **sizes())
    queries, keys = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    expected = torch.cosine_similarity(queries.unsqueeze(2), keys.unsqueeze(1), dim=-1)
    torch.testing.assert_close(score(queries, keys), expected)
    _, weights = Attention(score)(queries, keys, keys, torch.tensor([2, 5]))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


def test_another_package_is_imported_only_when_its_name_is_asked_for(install_score):
    install_score(
        "unlucky-score", "unlucky = unlucky_score:make", "raise RuntimeError('no licence')"
    )
    assert "unlucky" in SCORES.names()
    assert isinstance(build_score("dot", **sizes()), DotScore)
    assert "unlucky_score" not in sys.modules


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('no licence')", "no licence"),
        ("import a_module_that_is_not_there", "a_module_that_is_not_there"),
        ("", "make"),
    ],
)
def test_a_package_that_cannot_be_imported_is_named(install_score, code, reason):
    install_score("broken-score", "broken = broken_score:make", code)
    with pytest.raises(ImportError, match=f"'broken' of the package 'broken-score'.*{reason}"):
        build_score("broken", **sizes())


def test_a_score_that_misses_part_of_the_contract_is_refused(install_score):
    install_score(
        "half-score", "half = half_score:Half", "class Half:\n    __init__ = lambda *_, **__: None"
    )
    with pytest.raises(TypeError, match=r"'half'.*needs_equal_sizes, project_keys, __call__"):
        build_score("half", **sizes())


def test_another_package_cannot_take_a_built_in_name(install_score):
    install_score("rival-score", "dot = rival_score:make", "raise RuntimeError('imported')")
    assert isinstance(build_score("dot", **sizes()), DotScore)
    assert SCORES.names() == sorted(BUILT_IN)
