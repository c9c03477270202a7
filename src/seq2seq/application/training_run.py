"""The part of a run that needs torch: preparing, training, exporting, scoring."""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from seq2seq.application.allocator import keep_freed_memory
from seq2seq.application.build.decoding import build_search
from seq2seq.application.build.device import build_device
from seq2seq.application.build.model import build_model, build_spec, check_score, load_vectors
from seq2seq.application.build.precision import build_precision
from seq2seq.application.build.text import EncodedCorpus, build_codecs, encode_corpus
from seq2seq.application.checkpoint import load_model_weights
from seq2seq.application.run_record import RunRecord
from seq2seq.config import Config
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder, save_model_folder
from seq2seq.decoding.scoring import Scored, as_metrics, score_searches
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.experiments.ledger import Ledger, flat
from seq2seq.experiments.translations import (
    Translations,
    translations_path,
    write_translations,
)
from seq2seq.model.spec import ModelSpec
from seq2seq.tensorboard.hparams import write_hparams
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import ParallelCorpus, SentencePair
from seq2seq.text.report import corpus_report

FREE_TO_CHANGE = {"dropout", "dropout_by_sentence", "attention_dropout"}
"""Values of a spec in which a model may differ from the one it starts from."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """What can be refused has been refused; training may begin."""

    corpus: EncodedCorpus
    exported: TranslationModel
    device: torch.device
    precision: str


def prepare(config: Config, corpus: ParallelCorpus, run_dir: Path) -> PreparedRun:
    """Tokenise, print the corpus report, and build the model.

    Raises:
        InputError: options do not go with each other, the corpus or this machine.
    """
    check_score(config.attention.score)
    device = build_device(config.device)
    start = None if config.init_from is None else load_model_folder(Path(config.init_from))
    encoded = encode_corpus(config, corpus, _codecs(config, corpus, start, run_dir))
    print(corpus_report({"train": encoded.train, "validation": encoded.validation}))
    torch.manual_seed(config.seed)
    spec = build_spec(config, encoded.source_codec.vocabulary, encoded.target_codec.vocabulary)
    model = build_model(spec)
    load_vectors(config, model, encoded)
    if start is not None:
        _require_same_sizes(spec, start.spec, Path(config.init_from or ""))
        model.load_state_dict(start.model.state_dict())
    precision = build_precision(config.device.precision, spec, device)
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"vocabulary  {spec.source_vocabulary_size:,} source, {spec.target_vocabulary_size:,} "
        f"target   model  {num_parameters:,} parameters   device  {device}, {precision}"
    )
    exported = TranslationModel(spec, model, encoded.source_codec, encoded.target_codec)
    return PreparedRun(encoded, exported, device, precision)


def _codecs(
    config: Config, corpus: ParallelCorpus, start: TranslationModel | None, run_dir: Path
) -> tuple[TextCodec, TextCodec]:
    """The codecs of the model to start from, or new ones from the training split."""
    if start is not None:
        return start.source_codec, start.target_codec
    return build_codecs(config.data, corpus, run_dir / "tokenizer")


def _require_same_sizes(spec: ModelSpec, start: ModelSpec, path: Path) -> None:
    for field in fields(ModelSpec):
        wanted, found = getattr(spec, field.name), getattr(start, field.name)
        if wanted != found and field.name not in FREE_TO_CHANGE:
            raise InputError(
                f"init_from={path}: its {field.name} is {found}, this run's is {wanted}: "
                "choose the same model and attention"
            )


def train_and_score(
    config: Config, prepared: PreparedRun, run_dir: Path, record: RunRecord
) -> dict[str, Any]:
    """Train to the end, export the best model, translate and score.

    Raises:
        TrainingInterrupted: a signal stopped the training.
    """
    facts = _train(config, prepared, run_dir, record)
    load_model_weights(_kept_checkpoint(run_dir / "checkpoints"), prepared.exported.model)
    save_model_folder(run_dir / "model", prepared.exported)
    translator = Translator.load(run_dir / "model", device=str(prepared.device))
    splits = {"validation": prepared.corpus.validation.pairs, "test": prepared.corpus.test}
    search = build_search(config.decoding)
    scored = {
        name: score_searches(translator, pairs, search) for name, pairs in splits.items() if pairs
    }
    for name, by_search in scored.items():
        _keep_translations(run_dir, name, splits[name], by_search["greedy"])
    scores = {name: as_metrics(by_search) for name, by_search in scored.items()}
    metrics = shown_metrics(scores, record.ledger)
    write_hparams(run_dir, flat(record.ledger.config), metrics, facts["num_steps"])
    return scores | facts


def _train(
    config: Config, prepared: PreparedRun, run_dir: Path, record: RunRecord
) -> dict[str, Any]:
    """Fit the model; returns facts of the training."""
    # imported this late, Lightning costs nothing to a user whose input is refused
    from seq2seq.application.build.training import (  # noqa: PLC0415
        build_data,
        build_module,
        build_trainer,
        total_steps,
    )
    from seq2seq.tensorboard.callbacks import log_config  # noqa: PLC0415
    from seq2seq.training.time_spent import time_shares  # noqa: PLC0415

    keep_freed_memory()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data = build_data(config, prepared.corpus)
    num_steps = total_steps(config, len(data.train_dataloader()))
    module = build_module(config, prepared.exported.model, prepared.corpus, num_steps)
    trainer = build_trainer(
        config,
        run_dir,
        prepared.corpus,
        device=prepared.device,
        precision=prepared.precision,
        num_steps=num_steps,
        record=record,
    )
    record.ledger.threads = torch.get_num_threads()
    last = run_dir / "checkpoints" / "last.ckpt"
    if last.exists():
        print(f"continuing from {last}")
    else:
        log_config(trainer, (run_dir / "config.yaml").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        # Lightning 2.6 on torch 2.13 warns about its own use of torch's tree functions
        warnings.filterwarnings("ignore", message=r".*LeafSpec", category=FutureWarning)
        # nor is a folder of checkpoints to continue from a surprise
        warnings.filterwarnings("ignore", message=r"Checkpoint directory .* is not empty")
        trainer.fit(module, data, ckpt_path=last if last.exists() else None, weights_only=True)
    if prepared.device.type == "cuda":
        record.ledger.peak_device_memory_bytes = torch.cuda.max_memory_allocated(prepared.device)
    facts = {"num_epochs": trainer.current_epoch, "num_steps": trainer.global_step}
    return facts | time_shares(trainer)


def _kept_checkpoint(folder: Path) -> Path:
    """The best checkpoint; the last where none was chosen by a validation."""
    best = folder / "best.ckpt"
    return best if best.exists() else folder / "last.ckpt"


def shown_metrics(scores: dict[str, Any], ledger: Ledger) -> dict[str, float]:
    """What the HParams tab shows of a run; its tags are not those of the training's scalars."""
    metrics = {f"best/{split}_bleu": card["bleu"] for split, card in scores.items()}
    losses = list(ledger.values("validation/loss").values())
    if losses:
        metrics["best/validation_loss"] = min(losses)
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
