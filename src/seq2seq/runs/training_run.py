"""The part of a run that needs torch, after its preparation: training, exporting, scoring."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.config import Config
from seq2seq.decoding.model_folder import save_model_folder
from seq2seq.decoding.scoring import Scored, as_metrics, score_searches
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.metrics import quick_metrics
from seq2seq.experiments.checkpoints import BEST, LAST
from seq2seq.experiments.ledger import Ledger, flat
from seq2seq.experiments.translations import (
    Translations,
    translations_path,
    write_translations,
)
from seq2seq.runs.making.decoding import build_search
from seq2seq.runs.preparation import PreparedRun
from seq2seq.runs.run_folder import naming
from seq2seq.runs.run_record import RunRecord
from seq2seq.tensorboard.hparams import write_hparams
from seq2seq.text.corpus import SentencePair
from seq2seq.training.checkpoint_file import load_model_weights
from seq2seq.training.process_group import ProcessGroup


def train_and_score(
    config: Config, prepared: PreparedRun, run_dir: Path, record: RunRecord, job: ProcessGroup
) -> dict[str, Any]:
    """Train to the end; the first process exports the best model, translates and scores.

    Raises:
        TrainingFailed: training cannot go on.
        TrainingInterrupted: a signal stopped the training.
    """
    # imported this late, Lightning costs nothing to a user whose input is refused
    from seq2seq.runs.fit import fit  # noqa: PLC0415
    from seq2seq.runs.making.loggers import open_loggers  # noqa: PLC0415
    from seq2seq.tensorboard.event_log import EventLog  # noqa: PLC0415
    from seq2seq.training.failures import failures_in_one_line  # noqa: PLC0415

    with open_loggers(config, run_dir, job) as loggers:
        facts = fit(config, prepared, run_dir, record, job, loggers)
        if not job.is_first:
            return facts
        with failures_in_one_line(run_dir, lambda: "sentences to translate"):
            kept = _kept_checkpoint(run_dir / "checkpoints")
            load_model_weights(kept, prepared.exported.model)
            save_model_folder(run_dir / "model", prepared.exported)
            scores = _score(config, prepared, run_dir)
            metrics = shown_metrics(scores, record.ledger, of_best=kept.name == BEST)
            for logger in loggers:
                if isinstance(logger, EventLog):
                    values = flat(record.ledger.config)
                    given = naming(record.ledger.overrides)
                    write_hparams(run_dir, values, given, metrics, facts["num_steps"])
                else:
                    logger.log_metrics(metrics, facts["num_steps"])
                    logger.save()
    return scores | facts


def _score(config: Config, prepared: PreparedRun, run_dir: Path) -> dict[str, Any]:
    """Score cards of the exported model by split; the translations are kept."""
    translator = Translator.load(run_dir / "model", device=str(prepared.device))
    splits = prepared.corpus.held_out()
    search = build_search(config.decoding)
    scored = {name: score_searches(translator, pairs, search) for name, pairs in splits.items()}
    for name, by_search in scored.items():
        _keep_translations(run_dir, name, splits[name], by_search["greedy"])
    return {name: as_metrics(by_search) for name, by_search in scored.items()}


def _kept_checkpoint(folder: Path) -> Path:
    """The best checkpoint; the last where none was chosen by a validation."""
    best = folder / BEST
    return best if best.exists() else folder / LAST


def shown_metrics(scores: dict[str, Any], ledger: Ledger, *, of_best: bool) -> dict[str, float]:
    """What the HParams tab shows of a run; its tags are not those of the training's scalars.

    Args:
        scores: score cards of the exported model by split.
        ledger: the record of the run.
        of_best: whether the exported model is that of the best validation, or of the last.
    """
    metrics = {
        f"best/{split}_{name}": card[name]
        for split, card in scores.items()
        for name in quick_metrics()
        if name in card
    }
    validation = ledger.best if of_best else next(reversed(ledger.history), None)
    if validation is not None and "validation/loss" in validation:
        metrics["best/validation_loss"] = validation["validation/loss"]
    if ledger.tokens_per_second is not None:
        metrics["best/tokens_per_second"] = ledger.tokens_per_second
    return metrics


def _keep_translations(
    run_dir: Path, split: str, pairs: Sequence[SentencePair], scored: Scored
) -> None:
    """Keep the translations of a split, by which runs are compared."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    path = translations_path(run_dir, split)
    write_translations(path, Translations(sources, references, scored.texts))
