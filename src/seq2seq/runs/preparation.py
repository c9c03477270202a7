"""What comes before training: all that can be refused is refused, and the model is built."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seq2seq.config import Config, Precision
from seq2seq.decoding.model_files import model_folder
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder
from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import METRICS
from seq2seq.model.spec import ModelSpec
from seq2seq.option_rules import without_effect
from seq2seq.runs.launch import place_in_job
from seq2seq.runs.making.decoding import length_warning
from seq2seq.runs.making.device import build_device, build_precision
from seq2seq.runs.making.model import DROPOUTS, KEYS, build_model, build_spec, load_vectors
from seq2seq.runs.making.text import EncodedCorpus, encode_corpus, encode_held_out
from seq2seq.runs.resuming import (
    ResumePoint,
    conditions_of,
    find_resume_point,
    require_same_conditions,
    vocabulary_fingerprint,
)
from seq2seq.runs.seen_text import overlap_line, require_unseen
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.text.report import corpus_report
from seq2seq.training.process_group import ProcessGroup

FREE_TO_CHANGE = {*DROPOUTS, "model.dropout_by_sentence"}
"""Keys in which a model may differ from the one it starts from."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """What can be refused has been refused; training may begin.

    Attributes:
        corpus: encoded.
        exported: the model with its codecs.
        device: where to compute.
        precision: of `build_precision`.
        conditions: what the checkpoints are to remember of the run.
        resume_point: where to continue; None to begin.
    """

    corpus: EncodedCorpus
    exported: TranslationModel
    device: torch.device
    precision: str
    conditions: dict[str, Any]
    resume_point: ResumePoint | None


def prepare(
    config: Config, corpus: ParallelCorpus, run_dir: Path, job: ProcessGroup
) -> PreparedRun:
    """Tokenise, print the corpus report, and build the model.

    The processes of a job do so in turn: the first has made the tokenizers that the others read.

    Raises:
        InputError: options do not go with each other, the corpus, this machine, or what is in
            the folder.
        TrainingFailed: all checkpoints in the folder are damaged.
    """
    _require_gold(config.trainer.monitor, corpus)
    device = build_device(config.device, place_in_job(config.device, os.environ).local_rank)
    conditions = conditions_of(config, corpus)
    # before the tokenizers in the folder are written again
    point = find_resume_point(config, conditions, run_dir)
    start = None if config.init_from is None else _start(Path(config.init_from), run_dir)
    codecs = None if start is None else (start.source_codec, start.target_codec)
    encoded = encode_corpus(config, corpus, codecs, run_dir / "tokenizer", writes=job.is_first)
    _require_shares(encoded, job)
    conditions["vocabulary"] = vocabulary_fingerprint((encoded.source_codec, encoded.target_codec))
    if point is not None:
        require_same_conditions(point, conditions, force=config.resume.force)
    if job.is_first:  # it alone is heard
        _report(encoded)
    require_unseen(config, encoded)
    torch.manual_seed(config.seed)
    spec = build_spec(config, encoded.source_codec.vocabulary, encoded.target_codec.vocabulary)
    model = build_model(spec)
    load_vectors(config, model, encoded)
    if start is not None:
        _require_same_sizes(spec, start.spec, Path(config.init_from or ""))
        model.load_state_dict(start.model.state_dict())
    precision = _precision(config, spec, device, point)
    conditions["precision"] = {"device": device.type, "is": precision}
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"vocabulary  {spec.source_vocabulary_size:,} source, {spec.target_vocabulary_size:,} "
        f"target   model  {num_parameters:,} parameters   device  {device}, {precision}"
    )
    if not model.decoder.attends:
        print(f"attention   none in decoder {spec.decoder}: nothing is drawn, recorded or measured")
    if config.optim.guidance:
        _require_guides(corpus, spec.decoder, attends=model.decoder.attends)
    codecs = encoded.source_codec, encoded.target_codec
    exported = TranslationModel(spec, model, *codecs, encoded.bounds)
    return PreparedRun(encoded, exported, device, precision, conditions, point)


def _report(corpus: EncodedCorpus) -> None:
    """Print the corpus report, and for which references translations are too short."""
    print(corpus_report({"train": corpus.train, "validation": corpus.validation}))
    print(overlap_line(corpus))
    test = encode_held_out(corpus.test, (corpus.source_codec, corpus.target_codec))
    for name, split in (("validation", corpus.validation), ("test", test)):
        if line := length_warning(name, split, corpus.bounds):
            print(line)


def _start(path: Path, run_dir: Path) -> TranslationModel:
    """The model to start from, which the run does not replace."""
    if os.path.realpath(model_folder(path)) == os.path.realpath(run_dir / "model"):
        raise InputError(f"init_from={path} is the model of this run itself: give another name=…")
    return load_model_folder(path)


def _precision(
    config: Config, spec: ModelSpec, device: torch.device, point: ResumePoint | None
) -> str:
    """The precision that is wanted; where the probe chose it before, that is not asked again."""
    before = {} if point is None else point.conditions["precision"]
    if config.device.precision is Precision.auto and before.get("device") == device.type:
        return before["is"]
    return build_precision(config.device.precision, spec, device)


def _require_shares(corpus: EncodedCorpus, job: ProcessGroup) -> None:
    for name, split in (("training", corpus.train), ("validation", corpus.validation)):
        if len(split) < job.size:
            raise InputError(
                f"{len(split)} {name} pairs cannot be shared by {job.size} processes: lower "
                "device.devices"
            )


def _require_gold(monitored: str, corpus: ParallelCorpus) -> None:
    """Refuse to see progress in alignments where there are none to compare with."""
    needs = "" if monitored == "last" else METRICS[monitored].needs
    aligned = (pair.alignment is not None for pair in corpus.validation)
    if needs == "alignments" and not any(aligned):
        raise InputError(
            f"trainer.monitor={monitored}: the validation split has no gold alignments: "
            "set trainer.monitor=loss"
        )


def _require_guides(corpus: ParallelCorpus, decoder: str, *, attends: bool) -> None:
    """Refuse to guide an attention that there is not, or without links."""
    if not attends:
        raise InputError(f"optim.guidance is for attention, which decoder {decoder} has not")
    if not any(pair.alignment for pair in corpus.train):
        raise InputError(
            "optim.guidance: no training pair has links: give their file as data.links=FILE"
        )


def _require_same_sizes(spec: ModelSpec, start: ModelSpec, path: Path) -> None:
    now, before = (
        {key: getattr(each, name) for name, key in KEYS.items()} for each in (spec, start)
    )
    idle = without_effect(now).keys() & without_effect(before).keys()
    for key in [key for key in now if key not in FREE_TO_CHANGE | idle]:
        if now[key] != before[key]:
            raise InputError(
                f"init_from={path}: its {key} is {before[key]}, this run's is {now[key]}: "
                "choose the same model and attention"
            )
