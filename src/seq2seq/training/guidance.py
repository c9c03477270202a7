"""Guided alignment: attention is trained to look where links of words say.

Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural machine
translation", 2016. With a(t, j) the attention weight of target token t on source token j, and q(t)
a distribution over the source tokens that are linked with t:

    training minimises  -sum over t of log p(y_t)  -  weight * sum over t, j of q(t, j) log a(t, j)

The second sum is over the target tokens that have links. Both are divided by the number of all
target tokens, once a step.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.text.batch import Batch
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.training.aligned_pair import AlignedPair
from seq2seq.training.loss import LossSums

Cells = list[tuple[int, int, float]]
"""Row, column and value of what is not zero in a matrix."""


class Guidance:
    """The loss of the attention of a training split whose pairs have links.

    Args:
        weight: of the loss.
        split: the split; pairs without links are not guided.
        source_codec: of the source language.
        target_codec: of the target language.
    """

    def __init__(
        self, weight: float, split: EncodedSplit, source_codec: TextCodec, target_codec: TextCodec
    ) -> None:
        self._weight = weight
        self._split = split
        self._codecs = source_codec, target_codec
        self._cells: dict[int, Cells] = {}

    def added(
        self, sums: LossSums, weights: Float[Tensor, "B T S"] | None, batch: Batch
    ) -> LossSums:
        """The sums of a batch with the loss of its attention.

        Raises:
            ValueError: there is no attention.
        """
        if weights is None:
            raise ValueError("a model without attention cannot be guided")
        wanted = self.wanted(batch).to(weights)
        return sums.guided(*guidance_sums(weights, wanted), self._weight)

    def wanted(self, batch: Batch) -> Float[Tensor, "B T S"]:
        """q: where the attention of a batch is to be; rows of zeros for tokens without links."""
        found = np.zeros((*batch.target_output.shape, batch.source.ids.shape[1]), np.float32)
        for matrix, index in zip(found, batch.sentence_ids.tolist(), strict=True):
            if index not in self._cells:
                self._cells[index] = _cells(AlignedPair.of(self._split, index, *self._codecs))
            for row, column, share in self._cells[index]:
                matrix[row, column] = share
        return torch.from_numpy(found)


def build_guidance(
    weight: float, split: EncodedSplit, source_codec: TextCodec, target_codec: TextCodec
) -> Guidance | None:
    """The guidance of a training split; None where it weighs nothing."""
    return Guidance(weight, split, source_codec, target_codec) if weight else None


def guidance_sums(
    weights: Float[Tensor, "B T S"], wanted: Float[Tensor, "B T S"]
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the weights against the wanted ones in nats, and the tokens that have these.

    A weight of zero, as sparse attention has, counts as the least number that there is: the loss
    stays finite, and such a weight has no gradient.
    """
    least = torch.finfo(weights.dtype).tiny
    loss = -(wanted * weights.clamp_min(least).log()).sum()
    return loss, wanted.any(dim=-1).sum()


def _cells(pair: AlignedPair) -> Cells:
    """Each target token's equal shares on the tokens of the words that its word is linked with.

    Those of sure links if there are any, else those of possible ones.
    """
    found: Cells = []
    for row, target in enumerate(pair.target_words):
        of_links = (
            [at for at, source in enumerate(pair.source_words) if (source, target) in links]
            for links in (pair.gold.sure, pair.gold.possible)
        )
        linked = next(filter(None, of_links), [])
        found += [(row, at, 1 / len(linked)) for at in linked]
    return found
