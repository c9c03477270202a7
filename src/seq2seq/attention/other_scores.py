"""Other score functions, which compare queries with keys; the default, `AdditiveScore`, is in ``attention.py``.

A score is a module from queries (B, Q, d_q) and keys (B, S, d_k) to scores (B, Q, S), constructed with both sizes:
``Score(query_size=…, key_size=…)``. The method `project_keys` computes the part that depends on the keys only, once
for all queries of a sentence: ``score(queries, keys, score.project_keys(keys))`` equals ``score(queries, keys)`` and
does not use `keys`. A score with `needs_equal_sizes` True requires queries and keys of equal size.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn


class Score(Protocol):
    """What an attention calls to compare queries with keys."""

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor) -> Tensor:
        """Return the scores (B, Q, S); `projected_keys` is the result of `project_keys`, or `keys` without that method."""


class UnprojectedScore(nn.Module):
    """Base class of scores that compare the keys as they are, of any size."""

    needs_equal_sizes = False

    def __init__(self, query_size: int | None = None, key_size: int | None = None) -> None:
        super().__init__()

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return the keys unchanged."""
        return keys


class EqualSizesScore(UnprojectedScore):
    """Base class of scores without projection, for queries and keys of equal size."""

    needs_equal_sizes = True

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return the scores (B, Q, S).

        Raises:
            ValueError: Queries and keys differ in size.
        """
        keys = keys if projected_keys is None else projected_keys
        query_size, key_size = queries.shape[-1], keys.shape[-1]
        if query_size != key_size:
            raise ValueError(
                f"this score needs queries and keys of equal size, not {query_size} and {key_size}"
            )
        return self._score(queries, keys)

    def _score(self, queries: Tensor, keys: Tensor) -> Tensor:
        raise NotImplementedError


class DotScore(EqualSizesScore):
    """Dot product.

        a(q, k) = q^T k

    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation",
    2015. Queries and keys have the same size d. Cost: one batched product, B Q S d. For independent vectors with
    elements of unit variance, the scores have variance d.
    """

    def _score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(-1, -2)


class ScaledDotScore(EqualSizesScore):
    """Scaled dot product, whose variance does not depend on the size of the vectors.

        a(q, k) = q^T k / sqrt(d)

    Vaswani et al., "Attention is all you need", 2017. Queries and keys have the same size d. Cost: one batched
    product, B Q S d.
    """

    def _score(self, queries: Tensor, keys: Tensor) -> Tensor:
        # scaling the queries instead of the scores avoids overflow in float16
        return (queries / math.sqrt(queries.shape[-1])) @ keys.transpose(-1, -2)


class BilinearScore(nn.Module):
    """Bilinear score with a learned matrix, the "general" score of Luong et al.

        a(q, k) = q^T M k,  M (d_q, d_k)

    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation", 2015. Queries and
    keys may differ in size. Cost: B S d_q d_k for M k, once for all queries, and B Q S d_q for the product.

    Args:
        query_size: Size d_q of a query.
        key_size: Size d_k of a key.
    """

    needs_equal_sizes = False

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return M k (B, S, d_q)."""
        return self.key_projection(keys)

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return the scores (B, Q, S); `projected_keys` is the result of `project_keys(keys)`, or None."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        return queries @ projected.transpose(-1, -2)


class GaussianScore(EqualSizesScore):
    """Logarithm of a Gaussian kernel; attention with this score is kernel regression.

        a(q, k) = -|(q - k) w|^2 / 2

    Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964.
    Queries and keys have the same size d. Cost: one batched product, B Q S d, without a tensor of this size. The
    scores are in float32 or float64, also under autocast.

    Args:
        query_size: Size d_q of a query.
        key_size: Size d_k of a key.
        inverse_width: The inverse w of the width of the kernel; None: 1 / sqrt(query_size), or 1 without
            `query_size`. Distances grow with the size, and a larger w would give weights near 0 and 1.
        learnable: Whether w is a parameter with the initial value `inverse_width`.
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

    def _score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -0.5 * self.inverse_width**2 * _squared_distances(queries, keys)


class UniformScore(UnprojectedScore):
    """The same score for every key: the context is the mean of the values, the baseline for attention.

        a(q, k) = 0

    Queries and keys may differ in size.
    """

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return zeros (B, Q, S)."""
        return queries.new_zeros(*queries.shape[:2], keys.shape[1])


@torch.no_grad()
def check_score(score: nn.Module, query_size: int, key_size: int) -> None:
    """Check a score of the user's own.

    Raises:
        ValueError: Its scores have the wrong shape, or depend on `keys` although `projected_keys` is given.
    """
    name, queries, keys = type(score).__name__, torch.ones(1, 2, query_size), torch.ones(1, 3, key_size)
    if keys.is_meta:  # the model of a folder, which was checked before its training
        return
    project = getattr(score, "project_keys", None)
    raw, projected = (keys, keys) if project is None else (keys * torch.nan, project(keys))
    scores = score(queries, raw, projected)
    if scores.shape != (1, 2, 3):
        raise ValueError(
            f"{name} returned scores of shape {tuple(scores.shape)} for 1 sentence, 2 queries and 3 keys: the shape "
            "must be (batch, queries, keys), here (1, 2, 3)"
        )
    if project is not None and scores.isnan().any():
        raise ValueError(f"{name} must not use `keys` if `projected_keys` is given: a decoder has no others")


def _squared_distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Return |q - k|^2 (B, Q, S), computed as |q|^2 - 2 q^T k + |k|^2.

    The mean query is subtracted from queries and keys first: this does not change the distances, and it reduces
    cancellation, which is large if the three terms are much larger than their sum.
    """
    dtype = torch.promote_types(queries.dtype, torch.float32)
    with torch.autocast(queries.device.type, enabled=False):
        queries, keys = queries.to(dtype), keys.to(dtype)
        center = queries.detach().mean(dim=1, keepdim=True)
        queries, keys = queries - center, keys - center
        query_norms, key_norms = queries.square().sum(dim=-1), keys.square().sum(dim=-1)
        products = queries @ keys.transpose(-1, -2)
        return (query_norms.unsqueeze(2) - 2 * products + key_norms.unsqueeze(1)).clamp(min=0)
