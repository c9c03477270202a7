"""What a validation measures of the attention: its health, and its alignment error rate."""

from dataclasses import asdict
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.decoding.aligner import token_words
from seq2seq.evaluation.alignment import (
    AlignmentCounts,
    GoldAlignment,
    argmax_links,
    merge_words,
)
from seq2seq.evaluation.attention_health import HealthSums, health_sums
from seq2seq.text.batch import Batch
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.text.words import split_words
from seq2seq.training.job import Job

WordNumbers = list[int | None]


class AttentionMeasures:
    """Measures the teacher-forced attention of a split.

    Args:
        split: the split, whose pairs may have gold alignments.
        source_codec: of the source language.
        target_codec: of the target language.
    """

    def __init__(
        self, split: EncodedSplit, source_codec: TextCodec, target_codec: TextCodec
    ) -> None:
        self._split = split
        self._source_codec = source_codec
        self._target_codec = target_codec
        self._health = HealthSums()
        self._counts: AlignmentCounts | None = None

    def reset(self) -> None:
        """Begin with empty sums."""
        self._health, self._counts = HealthSums(), None

    def add(self, weights: Tensor, batch: Batch) -> None:
        """Count a batch in.

        Args:
            weights: attention weights (B, T, S) of the batch.
            batch: sentence pairs of the split.
        """
        array = weights.detach().float().cpu().numpy()
        widths, rows = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        self._health += health_sums(array, widths, rows)
        for matrix, width, height, index in zip(
            array, widths, rows, batch.sentence_ids.tolist(), strict=True
        ):
            if index in self._gold:
                counts = self._compared(matrix[: height - 1, : width - 1], index)
                self._counts = counts if self._counts is None else self._counts + counts

    def _compared(self, weights: NDArray[np.float32], index: int) -> AlignmentCounts:
        """The alignment of a pair, ``<eos>`` left out, against gold."""
        gold, source_words, target_words = self._gold[index]
        rows, columns = weights.shape
        # the tokens of a sentence that was cut are more than those of the batch
        merged = merge_words(weights, source_words[:columns], target_words[:rows])
        return AlignmentCounts.of(argmax_links(merged), gold)

    def gather(self, job: Job) -> None:
        """Count in what the other processes of a job have counted."""
        counts = None if self._counts is None else asdict(self._counts)
        everyone = job.gather([asdict(self._health), counts])
        self._health = sum((HealthSums(**health) for health, _ in everyone), HealthSums())
        found = [AlignmentCounts(**counts) for _, counts in everyone if counts is not None]
        self._counts = reduce(add, found) if found else None

    def metrics(self) -> dict[str, float]:
        """``attention/…``, see `HealthSums`, and ``alignment/…`` where there is gold."""
        health = {f"attention/{name}": value for name, value in self._health.metrics().items()}
        if self._counts is None:
            return health
        return health | {f"alignment/{name}": v for name, v in self._counts.metrics().items()}

    @cached_property
    def _gold(self) -> dict[int, tuple[GoldAlignment, WordNumbers, WordNumbers]]:
        """Gold, and the words of the source and the target tokens, of each pair that has it."""
        return {
            index: (
                GoldAlignment.from_links(pair.alignment, pair.possible),
                token_words(self._source_codec, pair.source, split_words(pair.source)),
                token_words(self._target_codec, pair.target, split_words(pair.target)),
            )
            for index, pair in enumerate(self._split.pairs)
            if pair.alignment is not None
        }
