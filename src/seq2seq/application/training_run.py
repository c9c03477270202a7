"""The part of a run that needs torch: preparing, training, exporting, scoring."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from seq2seq.application.build.device import build_device
from seq2seq.application.build.model import build_model, build_spec, check_score
from seq2seq.application.build.text import EncodedCorpus, build_codecs, encode_corpus
from seq2seq.application.checkpoint import BEST, LAST, load_model_weights
from seq2seq.application.resuming import (
    ResumePoint,
    conditions_of,
    find_resume_point,
    require_same_conditions,
    vocabulary_fingerprint,
)
from seq2seq.config import Config
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder, save_model_folder
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.evaluation.score_card import score_card
from seq2seq.model.spec import ModelSpec
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import ParallelCorpus, SentencePair
from seq2seq.text.report import corpus_report

FREE_TO_CHANGE = {"dropout", "attention_dropout"}
"""Values of a spec in which a model may differ from the one it starts from."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """What can be refused has been refused; training may begin.

    Attributes:
        corpus: encoded.
        exported: the model with its codecs.
        device: where to compute.
        conditions: what the checkpoints are to remember of the run.
        resume_point: where to continue; None to begin.
    """

    corpus: EncodedCorpus
    exported: TranslationModel
    device: torch.device
    conditions: dict[str, Any]
    resume_point: ResumePoint | None


def prepare(config: Config, corpus: ParallelCorpus, run_dir: Path) -> PreparedRun:
    """Tokenise, print the corpus report, and build the model.

    Raises:
        InputError: options do not go with each other, the corpus, this machine, or what is in
            the folder.
        TrainingFailed: all checkpoints in the folder are damaged.
    """
    check_score(config.attention.score)
    device = build_device(config.device)
    conditions = conditions_of(config, corpus)
    # before the tokenizers in the folder are written again
    point = find_resume_point(config, conditions, run_dir)
    start = None if config.init_from is None else load_model_folder(Path(config.init_from))
    encoded = encode_corpus(config, corpus, _codecs(config, corpus, start, run_dir))
    codecs = (encoded.source_codec, encoded.target_codec)
    conditions["vocabulary"] = vocabulary_fingerprint(codecs)
    if point is not None:
        require_same_conditions(point, conditions, force=config.resume.force)
    print(corpus_report({"train": encoded.train, "validation": encoded.validation}))
    torch.manual_seed(config.seed)
    spec = build_spec(config, encoded.source_codec.vocabulary, encoded.target_codec.vocabulary)
    model = build_model(spec)
    if start is not None:
        _require_same_sizes(spec, start.spec, Path(config.init_from or ""))
        model.load_state_dict(start.model.state_dict())
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"vocabulary  {spec.source_vocabulary_size:,} source, {spec.target_vocabulary_size:,} "
        f"target   model  {num_parameters:,} parameters   device  {device}"
    )
    exported = TranslationModel(spec, model, encoded.source_codec, encoded.target_codec)
    return PreparedRun(encoded, exported, device, conditions, point)


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


def train_and_score(config: Config, prepared: PreparedRun, run_dir: Path) -> dict[str, Any]:
    """Train to the end, export the best model, and score it.

    Raises:
        TrainingFailed: training cannot go on.
        TrainingInterrupted: a signal stopped the training.
    """
    facts = _train(config, prepared, run_dir)
    load_model_weights(_kept_checkpoint(run_dir / "checkpoints"), prepared.exported.model)
    save_model_folder(run_dir / "model", prepared.exported)
    translator = Translator.load(run_dir / "model", device=str(prepared.device))
    splits = {"validation": prepared.corpus.validation.pairs, "test": prepared.corpus.test}
    scores = {name: _score(translator, pairs) for name, pairs in splits.items() if pairs}
    return scores | facts


def _train(config: Config, prepared: PreparedRun, run_dir: Path) -> dict[str, Any]:
    """Fit the model; returns facts of the training."""
    # imported this late, Lightning costs nothing to a user whose input is refused
    from seq2seq.application.build.training import (  # noqa: PLC0415
        build_data,
        build_module,
        build_stop,
        build_trainer,
        total_steps,
    )
    from seq2seq.tensorboard.callbacks import log_config  # noqa: PLC0415
    from seq2seq.tensorboard.event_log import rewind_events  # noqa: PLC0415
    from seq2seq.training.failures import failures_in_one_line  # noqa: PLC0415

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data = build_data(config, prepared.corpus)
    num_steps = total_steps(config, len(data.train_dataloader()))
    module = build_module(config, prepared.exported.model, prepared.corpus, num_steps)
    point, stop = prepared.resume_point, build_stop(run_dir)
    rewind_events(run_dir, {} if point is None else point.event_sizes)
    trainer = build_trainer(
        config,
        run_dir,
        prepared.corpus,
        prepared.device,
        num_steps,
        conditions=prepared.conditions,
        stop=stop,
    )
    if point is None:
        log_config(trainer, (run_dir / "config.yaml").read_text(encoding="utf-8"))
    else:
        print(f"continuing from {point.checkpoint}, step {point.step}")
    failures = failures_in_one_line(run_dir, lambda: module.soundness.shape)
    with failures, stop, _quiet_lightning():
        checkpoint = None if point is None else point.checkpoint
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)
    return {"num_epochs": trainer.current_epoch, "num_steps": trainer.global_step}


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    with warnings.catch_warnings():
        # Lightning 2.6 on torch 2.13 warns about its own use of torch's tree functions
        warnings.filterwarnings("ignore", message=r".*LeafSpec", category=FutureWarning)
        yield


def _kept_checkpoint(folder: Path) -> Path:
    """The best checkpoint; the last where none was chosen by a validation."""
    best = folder / BEST
    return best if best.exists() else folder / LAST


def _score(translator: Translator, pairs: Sequence[SentencePair]) -> dict[str, Any]:
    translations = translator.translate([pair.source for pair in pairs])
    card = score_card([t.text for t in translations], [pair.target for pair in pairs])
    return card.as_dict() | {"num_sentences": len(pairs)}
