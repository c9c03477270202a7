"""What is measured on a validation or test split: loss, alignments, greedy translations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from joined_words import AlignmentCounts, clean
from seq2seq.common.errors import TrainingFailed
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import Prepared, prepared_of
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.evaluation.alignment import argmax_links, merge_words
from seq2seq.evaluation.metrics import scores_of
from seq2seq.training.gold_pairs import GoldPairs
from seq2seq.training.losses import LossSums


def metrics_of(sums: Tensor) -> dict[str, Tensor]:
    """Return loss (nats per token), perplexity and token accuracy from sums of `LossSums.stacked`."""
    nll, _, num_correct, num_tokens = sums
    loss = nll / num_tokens
    return {"loss": loss, "perplexity": loss.exp(), "token_accuracy": num_correct / num_tokens}


@dataclass
class SplitSums:
    """Sums over batches of a split; those of other processes can be added.

    Attributes:
        losses: Sum of `LossSums.stacked` (4,), in float64 on the CPU.
        aligned: Links of the attention, compared with the gold links.
        translations: Greedy translations by the index of the pair in the split.
    """

    losses: Tensor = field(default_factory=lambda: torch.zeros(4, dtype=torch.float64))
    aligned: AlignmentCounts = field(default_factory=AlignmentCounts)
    translations: dict[int, str] = field(default_factory=dict)

    def __add__(self, other: "SplitSums") -> "SplitSums":
        translations = self.translations | other.translations
        names = [each.name for each in fields(self) if each.name != "translations"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return SplitSums(**sums, translations=translations)

    def add_loss(self, sums: LossSums, batch: Batch, split: str) -> None:
        """Add the loss of a batch of a split.

        Raises:
            TrainingFailed: It is NaN or infinite.
        """
        if not sums.nll.isfinite():
            raise TrainingFailed(
                f"the {split} loss is NaN or infinite on pairs {batch.sentence_ids[:20].tolist()}; this model "
                "is not saved, the checkpoints before are kept: lower optimizer.lr"
            )
        self.losses += sums.stacked().cpu()

    def add_attention(self, weights: Tensor, batch: Batch, pairs: GoldPairs) -> None:
        """Add the links of the attention weights (B, T, S) of a batch."""
        widths, heights = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        matrices = weights.float().numpy(force=True)
        for matrix, width, height, index in zip(
            matrices, widths, heights, batch.sentence_ids.tolist(), strict=True
        ):
            pair = pairs.get(index)
            if pair is None:
                continue
            merged = merge_words(matrix[: height - 1, : width - 1], pair.source_words, pair.target_words)
            self.aligned += AlignmentCounts.of(argmax_links(merged), pair.gold)

    def of_all_processes(self, num_processes: int) -> "SplitSums":
        """Return the sums over all processes, which all call this method."""
        if num_processes == 1:
            return self
        shares: list[Any] = [None] * num_processes
        torch.distributed.all_gather_object(shares, self)
        return sum(shares[1:], shares[0])

    def scores(
        self, prefix: str, data: Prepared | None, split: str, metrics: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return scores by name; empty without batches.

        Names begin with `prefix`; without `data`, translations have no scores.
        """
        if not self.losses.any():
            return {}
        values = {f"{prefix}/{name}": float(value) for name, value in metrics_of(self.losses).items()}
        if data is not None and self.translations:
            whole = data.splits[split].pairs
            blank = {index: "" for index, pair in enumerate(whole) if not clean(pair.source)}  # in no batch
            found = self.translations | blank
            pairs = [whole[index] for index in found]
            texts, references = [*found.values()], [pair.target for pair in pairs]
            language = data.target_tokenizer.language
            sources = [pair.source for pair in pairs]
            languages = [pair.languages for pair in pairs]
            scores = scores_of(
                texts, references, language,
                only_quick=True, others=metrics, sources=sources, languages=languages,
            )  # fmt: skip
            values |= {f"{prefix}/{name}": score for name, score in scores.items()}
        if self.aligned.num_sure:
            values |= {f"{prefix}_alignment/{k}": value for k, value in self.aligned.metrics().items()}
        return values


class SplitScores:
    """Scores of a model on a validation or test split, from sums over its batches.

    Attributes:
        sums: The sums of the latest validation, at first of this process, at its end of all.
    """

    def __init__(self) -> None:
        self.sums = SplitSums()
        self._data: Prepared | None = None
        self._split = "validation"
        self._gold: dict[str, GoldPairs | None] = {}  # by split

    @property
    def has_texts(self) -> bool:
        """Whether there is a corpus, with tokenizers and references."""
        return self._data is not None

    def start(self, trainer: pl.Trainer) -> None:
        """Start a validation or test with sums of zero."""
        data, self.sums = prepared_of(trainer), SplitSums()
        if data is not self._data:
            self._data, self._gold = data, {}
        has_test = trainer.testing and data is not None and data.test
        self._split = "test" if has_test else "validation"

    def add(self, batch: Batch, losses: LossSums, weights: Tensor | None) -> None:
        """Add the loss of a batch and, with a corpus, the attention weights (B, T, h, S).

        Raises:
            TrainingFailed: The loss is NaN or infinite.
        """
        self.sums.add_loss(losses, batch, self._split)
        if self._data is None or weights is None:
            return
        if self._split not in self._gold:
            is_aligned = any(pair.alignment is not None for pair in self._data.splits[self._split].pairs)
            self._gold[self._split] = GoldPairs.of(self._data, self._split) if is_aligned else None
        if gold := self._gold[self._split]:
            self.sums.add_attention(weights.mean(dim=2), batch, gold)

    def add_translations(self, batch: Batch, hypotheses: Iterable[Hypothesis]) -> None:
        """Add a translation of each sentence of a batch of a corpus."""
        assert self._data is not None
        split = self._data.test if self._split == "test" else self._data.validation
        assert split is not None
        for index, hypothesis in zip(batch.sentence_ids.tolist(), hypotheses, strict=True):
            language = split.pairs[index].target_language
            self.sums.translations[index] = self._data.target_tokenizer.decode(hypothesis.ids, language)

    def end(self, trainer: pl.Trainer, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Return the values to log, of all processes: scores by name, and the step; empty without batches."""
        self.sums = self.sums.of_all_processes(trainer.world_size)
        values = self.sums.scores("test" if trainer.testing else "val", self._data, self._split, metrics)
        # without `step`, Lightning adds `epoch`, the first plot of TensorBoard
        return values | {"step": float(trainer.global_step)} if values else {}
