"""From queries, keys and values to contexts: weighted means of the values."""

from torch import Tensor, nn

from seq2seq.attention.masking import Lengths, Normalizer, attention_weights, masked_softmax
from seq2seq.attention.scores import UniformScore


class AttentionPooling(nn.Module):
    """Weighted mean of the values, weighted by how well a query and each key go together.

        w = softmax over the real keys of score(q, k),  context = sum over j of w_j v_j

    The module keeps parameters only: no weights, keys or state stay behind after a call. The
    softmax is computed in float32 at least, and its result converted to the type of the values.

    Args:
        score: the scoring function, see `seq2seq.attention.scores.Score`. A module without
            `project_keys` will do; it is called with queries and keys alone.
        dropout: probability of leaving out a weight in training. It acts on the mean only: the
            weights returned are those before dropout, and sum to one.
        normalizer: what stands in the softmax's place, see `seq2seq.attention.normalizers`.
    """

    def __init__(
        self,
        score: nn.Module,
        dropout: float = 0.0,
        normalizer: Normalizer = masked_softmax,
    ) -> None:
        super().__init__()
        self.score, self._normalizer = score, normalizer
        self.dropout = nn.Dropout(dropout)

    def project_keys(self, keys: Tensor) -> Tensor:
        """What the score needs of the keys, for `projected_keys`: once for many calls."""
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
        """Attend.

        Args:
            queries: what asks.
            keys: what is compared with the queries.
            values: what is averaged; finite, on padding too.
            valid_lengths: how many keys are real, from the first on: (B,) or (B, Q). None for all.
            mask: True on real keys, of any shape that broadcasts to (B, Q, K), instead of lengths.
            projected_keys: what `project_keys(keys)` returned, to save that work.

        Returns:
            The context, in the values' type, and the weights, in float32 at least. A query
            without a real key has zeros in both.

        Raises:
            ValueError: both `valid_lengths` and `mask` are given, or sizes do not go together.
        """
        projects = hasattr(self.score, "project_keys")
        scores = self.score(queries, keys, projected_keys) if projects else self.score(queries, keys)
        weights = attention_weights(scores, valid_lengths, mask=mask, normalizer=self._normalizer)
        return self.dropout(weights.to(values.dtype)) @ values, weights


class AveragePooling(AttentionPooling):
    """Plain mean of the real values: the attention that does not look, for comparison.

    context = sum of v_j over the real keys j / number of real keys
    """

    def __init__(self) -> None:
        super().__init__(UniformScore())
