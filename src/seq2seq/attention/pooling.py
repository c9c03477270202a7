"""From queries, keys and values to contexts: weighted means of the values."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.attention.masking import Lengths, Normaliser, attention_weights, masked_softmax
from seq2seq.attention.scores import ConstantScore, Score


class Attention(nn.Module):
    """Weighted mean of the values, weighted by how well a query and each key go together.

        w = softmax over the real keys of score(q, k),  context = sum over j of w_j v_j

    The module keeps parameters only: no weights, keys or state stay behind after a call. The
    softmax is computed in float32 at least, and its result converted to the type of the values.

    Args:
        score: the scoring function, see `seq2seq.attention.scores.Score`. A module without
            `project_keys` will do; it is called with queries and keys alone.
        dropout: probability of leaving out a weight in training. It acts on the mean only: the
            weights returned are those before dropout, and sum to one.
        normaliser: what stands in the softmax's place, see `seq2seq.attention.normalisers`.
    """

    def __init__(
        self,
        score: Score | nn.Module,
        dropout: float = 0.0,
        normaliser: Normaliser = masked_softmax,
    ) -> None:
        super().__init__()
        self.score, self._normaliser = score, normaliser
        self.dropout = nn.Dropout(dropout)

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Tensor:
        """What the score needs of the keys, for `projected_keys`: once for many calls."""
        project = getattr(self.score, "project_keys", None)
        return keys if project is None else project(keys)

    def forward(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        values: Float[Tensor, "B K v"],
        valid_lengths: Lengths = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        projected_keys: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B Q v"], Float[Tensor, "B Q K"]]:
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
        weights = attention_weights(
            self._scores(queries, keys, projected_keys),
            valid_lengths,
            mask=mask,
            normaliser=self._normaliser,
        )
        return self.dropout(weights.to(values.dtype)) @ values, weights

    def _scores(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None) -> Tensor:
        if hasattr(self.score, "project_keys"):
            return self.score(queries, keys, projected_keys)
        return self.score(queries, keys)


class AveragePooling(Attention):
    """Plain mean of the real values: the attention that does not look, for comparison.

    context = sum of v_j over the real keys j / number of real keys
    """

    def __init__(self) -> None:
        super().__init__(ConstantScore())
