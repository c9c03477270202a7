"""What a validation measures of the attention: its health, and its alignment error rate."""

from dataclasses import asdict
from functools import cached_property

from torch import Tensor

from seq2seq.evaluation.alignment import AlignmentCounts
from seq2seq.evaluation.attention_health import HealthSums, health_sums
from seq2seq.text.batch import Batch
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.training.aligned_pair import AlignedPair
from seq2seq.training.process_group import ProcessGroup


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
        self._codecs = source_codec, target_codec
        self._health = HealthSums()
        self._counts = self._least = AlignmentCounts()

    def reset(self) -> None:
        """Begin with empty sums."""
        self._health = HealthSums()
        self._counts = self._least = AlignmentCounts()

    def add(self, weights: Tensor | None, batch: Batch) -> None:
        """Count a batch in.

        Args:
            weights: attention weights (B, T, S) of the batch; None of a model without attention,
                of which nothing is measured.
            batch: sentence pairs of the split.
        """
        if weights is None:
            return
        array = weights.detach().float().cpu().numpy()
        widths, rows = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        self._health += health_sums(array, widths, rows)
        for matrix, width, height, index in zip(
            array, widths, rows, batch.sentence_ids.tolist(), strict=True
        ):
            if index in self._gold:
                known = self._gold[index]
                self._counts += known.compared(matrix[: height - 1, : width - 1])
                self._least += known.least

    def gather(self, job: ProcessGroup) -> None:
        """Count in what the other processes of a job have counted."""
        everyone = job.gather([asdict(each) for each in (self._health, self._counts, self._least)])
        health, counts, least = zip(*everyone, strict=True)
        self._health = sum((HealthSums(**each) for each in health), HealthSums())
        self._counts, self._least = (
            sum((AlignmentCounts(**each) for each in parts), AlignmentCounts())
            for parts in (counts, least)
        )

    def metrics(self) -> dict[str, float]:
        """``attention/…``, see `HealthSums`, and ``alignment/…`` where there is gold.

        ``alignment/least_aer`` is that of `best_links`: no attention between these tokens has less.
        """
        if not self._health.num_tokens:
            return {}
        health = {f"attention/{name}": value for name, value in self._health.metrics().items()}
        if not self._gold:
            return health
        measures = self._counts.metrics() | {"least_aer": self._least.error_rate}
        return health | {f"alignment/{name}": value for name, value in measures.items()}

    @cached_property
    def _gold(self) -> dict[int, AlignedPair]:
        """What is known of each pair that has gold."""
        split = self._split
        return {
            index: AlignedPair.of(split, index, *self._codecs)
            for index, pair in enumerate(split.pairs)
            if pair.alignment is not None
        }
