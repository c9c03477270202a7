"""Scoring functions: how well a query and a key go together.

Each is a module from queries (B, Q, q) and keys (B, K, k) to scores (B, Q, K), see `Score`. A new
one is a class here and a line in `SCORES`, or a package of its own, see `seq2seq.registry`.
"""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.attention.additive import AdditiveScore
from seq2seq.registry import Registry

__all__ = [
    "SCORES",
    "AdditiveScore",
    "BilinearScore",
    "ConstantScore",
    "DotScore",
    "GaussianScore",
    "ScaledDotScore",
    "Score",
]


@runtime_checkable
class Score(Protocol):
    """What a scoring function offers. A `torch.nn.Module` offers the call through `forward`.

    Keys are often compared with many queries, one after the other. What depends on the keys alone
    is therefore separate: `score(queries, keys)` and
    `score(queries, keys, score.project_keys(keys))` are equal, and the second does not project.
    """

    @property
    def needs_equal_sizes(self) -> bool:
        """Whether queries and keys must be of one size. Usually a class attribute."""

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Tensor:
        """The part of the work that depends on the keys alone, (B, K, anything)."""

    def __call__(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Tensor | None = None,
    ) -> Float[Tensor, "B Q K"]:
        """The scores; `projected_keys`, where given, instead of projecting `keys` again."""


@runtime_checkable
class ScoreFactory(Protocol):
    """What a name stands for. Sizes may go unused."""

    def __call__(self, *, query_size: int, key_size: int, hidden_size: int | None) -> Score:
        """A new score."""


class _EqualSizesScore(nn.Module):
    """A score of queries and keys of one size, with nothing to project."""

    needs_equal_sizes = True

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Float[Tensor, "B K k"]:
        """The keys themselves: there is nothing to project."""
        return keys

    def forward(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Float[Tensor, "B K k"] | None = None,
    ) -> Float[Tensor, "B Q K"]:
        """The scores.

        Raises:
            ValueError: queries and keys differ in size.
        """
        keys = keys if projected_keys is None else projected_keys
        query_size, key_size = queries.shape[-1], keys.shape[-1]
        if query_size != key_size:
            raise ValueError(
                f"this score needs queries and keys of one size, not {query_size} and {key_size}"
            )
        return self._of(queries, keys)

    def _of(
        self, queries: Float[Tensor, "B Q d"], keys: Float[Tensor, "B K d"]
    ) -> Float[Tensor, "B Q K"]:
        raise NotImplementedError


class DotScore(_EqualSizesScore):
    """Dot product.

        a(q, k) = q^T k

    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation",
    2015. Queries and keys must be of one size d. Costs one batched product, B Q K d. The scores
    of independent vectors of unit variance have variance d.
    """

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.mT


class ScaledDotScore(_EqualSizesScore):
    """Dot product, scaled so that its variance does not grow with the size of the vectors.

        a(q, k) = q^T k / sqrt(d)

    Vaswani et al., "Attention is all you need", 2017. Queries and keys must be of one size d.
    Costs one batched product, B Q K d.
    """

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        # Scaling the queries, not the scores, keeps the product within float16.
        return (queries / math.sqrt(queries.shape[-1])) @ keys.mT


class BilinearScore(nn.Module):
    """Dot product with a learned matrix in between, Luong's "general" score.

        a(q, k) = q^T M k,  M (q, k)

    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation",
    2015. Queries and keys may differ in size. Costs B K q k for M k, once for all queries, and
    B Q K q for the product.

    Args:
        query_size: size of a query.
        key_size: size of a key.
    """

    needs_equal_sizes = False

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Float[Tensor, "B K q"]:
        """M k."""
        return self.key_projection(keys)

    def forward(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Float[Tensor, "B K q"] | None = None,
    ) -> Float[Tensor, "B Q K"]:
        """The scores; `projected_keys` are what `project_keys(keys)` returned."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        return queries @ projected.mT


class GaussianScore(_EqualSizesScore):
    """Logarithm of a Gaussian kernel: its softmax is kernel regression.

        a(q, k) = -|(q - k) w|^2 / 2

    Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964.
    Queries and keys must be of one size d. Costs one batched product, B Q K d; no tensor of that
    size is made. The scores are in float32 at least, under autocast too.

    Args:
        inverse_width: w, one over the width of the kernel.
        learnable: whether w is a parameter, with `inverse_width` its first value.
    """

    def __init__(self, inverse_width: float = 1.0, *, learnable: bool = False) -> None:
        super().__init__()
        self.inverse_width = (
            nn.Parameter(torch.tensor(inverse_width)) if learnable else inverse_width
        )

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -0.5 * self.inverse_width**2 * _squared_distances(queries, keys)


class ConstantScore(nn.Module):
    """The same score for every key: its softmax is the plain mean, attention that does not look.

        a(q, k) = 0

    What is gained by looking is the difference to it. Costs nothing.
    """

    needs_equal_sizes = False

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Float[Tensor, "B K k"]:
        """The keys themselves: there is nothing to project."""
        return keys

    def forward(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Float[Tensor, "B K k"] | None = None,  # noqa: ARG002 - as all others
    ) -> Float[Tensor, "B Q K"]:
        """Zeros."""
        return queries.new_zeros(*queries.shape[:2], keys.shape[1])


def _squared_distances(queries: Tensor, keys: Tensor) -> Tensor:
    """|q - k|^2 as |q|^2 - 2 q^T k + |k|^2, around the mean query.

    Distances do not depend on the origin, rounding does: the three terms cancel well only where
    they are not much larger than their sum. A single query is its own mean, and exact.
    """
    dtype = torch.promote_types(queries.dtype, torch.float32)
    with torch.autocast(queries.device.type, enabled=False):
        queries, keys = queries.to(dtype), keys.to(dtype)
        centre = queries.detach().mean(dim=1, keepdim=True)
        queries, keys = queries - centre, keys - centre
        of_queries, of_keys = queries.square().sum(dim=-1), keys.square().sum(dim=-1)
        products = queries @ keys.mT
        return (of_queries.unsqueeze(2) - 2 * products + of_keys.unsqueeze(1)).clamp(min=0)


SCORES: Registry[ScoreFactory] = Registry(
    "score",
    {
        "additive": lambda query_size, key_size, hidden_size: AdditiveScore(
            query_size, key_size, hidden_size=hidden_size
        ),
        "average": lambda **_: ConstantScore(),
        "bilinear": lambda query_size, key_size, **_: BilinearScore(query_size, key_size),
        "dot": lambda **_: DotScore(),
        # distances grow with the size: the width does too, so that weights start out spread
        "gaussian": lambda query_size, **_: GaussianScore(
            1 / math.sqrt(query_size), learnable=True
        ),
        "scaled_dot": lambda **_: ScaledDotScore(),
    },
    ScoreFactory,
)
