"""The shortest training that reaches a score."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback

from seq2seq.config import Config
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.bleu import cased_bleu
from seq2seq.runs.fit import fit
from seq2seq.runs.making.by_size import sized
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.decoding import build_search
from seq2seq.runs.making.loggers import open_loggers
from seq2seq.runs.preparation import PreparedRun, prepare
from seq2seq.runs.run_record import RunRecord, config_yaml
from seq2seq.storage.writing import write_file
from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import BatchSize
from seq2seq.training.process_group import ALONE

TOKENS_A_BATCH = 4096
"""Padded size of the batches of the search."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a training stood after a validation.

    Attributes:
        epoch: finished epochs.
        seconds: from the beginning of the run, reading the corpus and validations included, but
            for the time that these scores took.
        num_tokens: target tokens that were trained on.
        bleu: cased BLEU of the validation split by beam search.
    """

    epoch: int
    seconds: float
    num_tokens: int
    bleu: float


class Goal(Callback):
    """Scores the validation split by beam search after every validation; ends training at a score.

    Args:
        prepared: the run.
        config: of the run, whose beam is used.
        bleu: the score.
        started: when the run began, of `perf_counter`.
    """

    def __init__(
        self, prepared: PreparedRun, config: Config, *, bleu: float, started: float
    ) -> None:
        self._pairs = prepared.corpus.validation.pairs
        self._exported = prepared.exported
        self._device = prepared.device
        self._search = build_search(config.decoding)
        self._bleu = bleu
        self._started = started
        self._num_tokens = torch.zeros((), dtype=torch.int64)
        self.marks: list[Mark] = []
        """One for each validation."""

    def on_train_batch_end(self, *arguments: Any) -> None:
        """Count the tokens of a batch, the fourth argument."""
        batch: Batch = arguments[3]
        self._num_tokens = self._num_tokens + batch.target_lengths.sum().cpu()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Score the model as validated, which is an average where one is kept."""
        before = perf_counter()
        bleu = self._score()
        mark = Mark(
            epoch=trainer.current_epoch + 1,
            seconds=before - self._started,
            num_tokens=int(self._num_tokens),
            bleu=bleu,
        )
        self.marks.append(mark)
        self._started += perf_counter() - before
        trainer.should_stop = self.is_reached

    @property
    def is_reached(self) -> bool:
        """Whether the latest score is high enough."""
        return bool(self.marks) and self.marks[-1].bleu >= self._bleu

    def _score(self) -> float:
        translator = Translator(
            self._exported,
            device=self._device,
            batch_size=BatchSize(sentences=None, tokens=TOKENS_A_BATCH),
        )
        sources = [pair.source for pair in self._pairs]
        found = translator.translate(sources, search=self._search, return_attention=False)
        texts = [translation.text for translation in found]
        return cased_bleu(texts, [p.target for p in self._pairs], translator.target_language)


def speedrun(config: Config, run_dir: Path, overrides: list[str], *, bleu: float) -> list[Mark]:
    """Train until the validation split is translated well enough; returns all marks.

    Args:
        config: of the training.
        run_dir: a new folder.
        overrides: what the command line set, for the record.
        bleu: where to stop.

    Raises:
        InputError: as in `seq2seq.runs.run.run`.
        TrainingFailed: likewise.
        TrainingInterrupted: likewise.
    """
    started = perf_counter()
    corpus = build_corpus(config.data)
    record = RunRecord.begin(config, run_dir, overrides)
    with record.kept():
        write_file(run_dir / "config.yaml", config_yaml(config))
        config = sized(config, len(corpus.train))
        prepared = prepare(config, corpus, run_dir, ALONE)
        goal = Goal(prepared, config, bleu=bleu, started=started)
        with open_loggers(config, run_dir, ALONE) as loggers:
            fit(config, prepared, run_dir, record, ALONE, loggers, watchers=[goal])
    return goal.marks


def as_lines(marks: list[Mark], *, bleu: float) -> list[str]:
    """What to print of a speedrun, and the line for the table of results."""
    lines = [
        f"epoch {mark.epoch:>3}   {mark.seconds:>7,.0f} s   {mark.num_tokens:>11,} target tokens   "
        f"BLEU {mark.bleu:.2f}"
        for mark in marks
    ]
    last = marks[-1]
    if last.bleu < bleu:
        return [*lines, f"BLEU {bleu:g} not reached"]
    day = datetime.now(UTC).date()
    row = f"| {day} | {last.seconds:,.0f} | {last.num_tokens:,} | {last.bleu:.2f} |"
    return [*lines, f"for docs/speedrun.md: {row}"]
