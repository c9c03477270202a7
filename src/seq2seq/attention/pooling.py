"""Attention pooling: weighted means of values."""

from collections.abc import Callable

from torch import Tensor, nn

from seq2seq.attention.masking import Lengths, masked_softmax
from seq2seq.attention.other_scores import UniformScore

Normalizer = Callable[..., Tensor]
"""Function from scores to weights that sum to 1, with the arguments of `masked_softmax`."""


class AttentionPooling(nn.Module):
    """Weighted mean of the values, with weights from the scores of query and keys.

        w = softmax over the real keys of score(q, k),  context = sum over j of w_j v_j

    The softmax is computed in float32 or float64; the weights are then converted to the type of the values. The module
    stores parameters only, no weights or keys of a call.

    Args:
        score: The score, see `seq2seq.attention.other_scores`. Without a method `project_keys` it is called with
            queries and keys only.
        dropout: Dropout probability of the weights. The returned weights are those before dropout; their sum is 1.
        normalizer: Function from scores to weights, see `seq2seq.attention.masking`.
    """

    def __init__(
        self, score: nn.Module, dropout: float = 0.0, normalizer: Normalizer = masked_softmax
    ) -> None:
        super().__init__()
        self.score, self._normalizer = score, normalizer
        self.dropout = nn.Dropout(dropout)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return the keys as projected by the score, for the argument `projected_keys` of several calls."""
        project = getattr(self.score, "project_keys", None)
        return keys if project is None else project(keys)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lengths: Lengths = None,
        *,
        mask: Tensor | None = None,
        projected_keys: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compute the context of each query.

        Args:
            queries: Queries (B, Q, d_q).
            keys: Keys (B, S, d_k).
            values: Values (B, S, d_v); finite, on padding too.
            valid_lengths: Number of real keys, which come first: (B,) or (B, Q); None: all keys are real.
            mask: True on real keys, of a shape that broadcasts to (B, Q, S); instead of `valid_lengths`.
            projected_keys: Result of `project_keys(keys)`; None: computed by the score.

        Returns:
            Contexts (B, Q, d_v) in the type of the values, and weights (B, Q, S) in float32 or float64. Both are zero for
            a query without real keys.

        Raises:
            ValueError: Both `valid_lengths` and `mask` are given, or sizes do not match.
        """
        projects = hasattr(self.score, "project_keys")
        scores = self.score(queries, keys, projected_keys) if projects else self.score(queries, keys)
        weights = self._normalizer(scores, valid_lengths, mask=mask)
        return self.dropout(weights.to(values.dtype)) @ values, weights


class AveragePooling(AttentionPooling):
    """Mean of the real values, the baseline for attention.

        context = sum of v_j over the real keys j / number of real keys

    The score is `UniformScore`.
    """

    def __init__(self) -> None:
        super().__init__(UniformScore())
