"""Scoring functions: how well a query and a key go together.

Each is a module from queries (B, Q, q) and keys (B, K, k) to scores (B, Q, K). It is made with both sizes,
``Score(query_size=…, key_size=…)``. Keys are compared with many queries, one after the other; what depends
on the keys alone is `project_keys`, and ``score(queries, keys, score.project_keys(keys))`` equals
``score(queries, keys)``. A score whose `needs_equal_sizes` is True expects queries and keys of one size.
"""

import math

import torch
from torch import Tensor, nn


class EqualSizesScore(nn.Module):
    """A score of queries and keys of one size, with nothing to project."""

    needs_equal_sizes = True

    def __init__(self, query_size: int | None = None, key_size: int | None = None) -> None:
        super().__init__()

    def project_keys(self, keys: Tensor) -> Tensor:
        """The keys themselves: there is nothing to project."""
        return keys

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        projected_keys: Tensor | None = None,
    ) -> Tensor:
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

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        raise NotImplementedError


class DotScore(EqualSizesScore):
    """Dot product.

        a(q, k) = q^T k

    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation",
    2015. Queries and keys must be of one size d. Costs one batched product, B Q K d. The scores
    of independent vectors of unit variance have variance d.
    """

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(-1, -2)


class ScaledDotScore(EqualSizesScore):
    """Dot product, scaled so that its variance does not grow with the size of the vectors.

        a(q, k) = q^T k / sqrt(d)

    Vaswani et al., "Attention is all you need", 2017. Queries and keys must be of one size d.
    Costs one batched product, B Q K d.
    """

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        # Scaling the queries, not the scores, keeps the product within float16.
        return (queries / math.sqrt(queries.shape[-1])) @ keys.transpose(-1, -2)


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

    def project_keys(self, keys: Tensor) -> Tensor:
        """M k."""
        return self.key_projection(keys)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        projected_keys: Tensor | None = None,
    ) -> Tensor:
        """The scores; `projected_keys` are what `project_keys(keys)` returned."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        return queries @ projected.transpose(-1, -2)


class GaussianScore(EqualSizesScore):
    """Logarithm of a Gaussian kernel: its softmax is kernel regression.

        a(q, k) = -|(q - k) w|^2 / 2

    Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964.
    Queries and keys must be of one size d. Costs one batched product, B Q K d; no tensor of that
    size is made. The scores are in float32 at least, under autocast too.

    Args:
        query_size: Size of a query.
        key_size: Size of a key.
        inverse_width: w, one over the width of the kernel; None: 1 / sqrt(query_size), so that the
            weights start out spread, since distances grow with the size.
        learnable: Whether w is a parameter, with `inverse_width` its first value.
    """

    def __init__(
        self,
        query_size: int | None = None,
        key_size: int | None = None,
        *,
        inverse_width: float | None = None,
        learnable: bool = False,
    ) -> None:
        super().__init__()
        if inverse_width is None:
            inverse_width = 1.0 if query_size is None else 1 / math.sqrt(query_size)
        self.inverse_width = nn.Parameter(torch.tensor(inverse_width)) if learnable else inverse_width

    def _of(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -0.5 * self.inverse_width**2 * _squared_distances(queries, keys)


class UniformScore(nn.Module):
    """The same score for every key: its softmax is the plain mean, attention that does not look.

        a(q, k) = 0

    What is gained by looking is the difference to it. Costs nothing.
    """

    needs_equal_sizes = False

    def __init__(self, query_size: int | None = None, key_size: int | None = None) -> None:
        super().__init__()

    def project_keys(self, keys: Tensor) -> Tensor:
        """The keys themselves: there is nothing to project."""
        return keys

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        projected_keys: Tensor | None = None,
    ) -> Tensor:
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
        products = queries @ keys.transpose(-1, -2)
        return (of_queries.unsqueeze(2) - 2 * products + of_keys.unsqueeze(1)).clamp(min=0)
