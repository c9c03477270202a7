"""The objects of a run, made of its settings in this order: data, tokenizers, model and module, trainer."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from hydra_checked.program import HAS_WHITELIST, UTILS
from seq2seq.common.errors import InputError
from seq2seq.common.named import is_within, named, packages_of
from seq2seq.run.sizes import said
from seq2seq.settings.config import Settings, target_of

if TYPE_CHECKING:
    import lightning.pytorch as pl

    from seq2seq.data.datamodule import Prepared, TranslationDataModule
    from seq2seq.models.folder import SavedModel
    from seq2seq.training.module import TranslationModule


def build(node: Any, **options: Any) -> Any:
    """Build the object of a node, whose lists and mappings become those of Python."""
    if HAS_WHITELIST:
        packages = packages_of(OmegaConf.to_container(node) if OmegaConf.is_config(node) else node)
        options["_execution_whitelist_"] = UTILS.execution_whitelist(packages, reset=True)
    return instantiate(node, _convert_="all", **options)


def read_data(settings: Settings, folder: Path, checkpoint: str | None) -> "TranslationDataModule":
    """Read the corpus; tokenizers come from the folder of a run that goes on, or from the model to start from.

    A folder may be downloaded. Classes of other packages that it names are imported only if this configuration
    names such classes itself.
    """
    from seq2seq.data.datamodule import TranslationDataModule
    from seq2seq.data.tokenizers import load_tokenizers
    from seq2seq.models.folder import load_model_folder

    config = settings.config
    data = build(config.data)
    if not isinstance(data, TranslationDataModule):
        raise InputError(
            f"data._target_={config.data._target_}: a subclass of seq2seq.data.TranslationDataModule is needed; "
            "with another LightningDataModule, train a TranslationModule by lightning.Trainer"
        )
    data.prepare_data()
    trusts = has_own_classes(config)
    if config.init_from is not None:
        saved = load_model_folder(config.init_from, trust_custom_code=trusts)
        require_tokenizers(settings, saved)
        data.start_with(saved.source_tokenizer, saved.target_tokenizer)
    elif checkpoint is not None and not config.overwrite and (folder / "tokenizers").is_dir():
        data.tokenizers = load_tokenizers(folder / "tokenizers", trust_custom_code=trusts)
    return data


def require_tokenizers(settings: Settings, saved: "SavedModel") -> None:
    """Refuse a tokenizer that is given beside a model to start from, which keeps its own.

    Raises:
        InputError: They differ.
    """
    nodes = settings.config.data
    is_shared = saved.source_tokenizer.vocabulary == saved.target_tokenizer.vocabulary
    if settings.given.get("data.joint_vocabulary") is True and not is_shared:
        raise InputError(
            "data.joint_vocabulary=true: init_from keeps the tokenizers of its model, which have two vocabularies: "
            "leave this out"
        )
    sides = {"tokenizer": saved.source_tokenizer, "target_tokenizer": saved.target_tokenizer}
    for side, own in sides.items():
        node = nodes.get(side) or nodes.tokenizer
        is_chosen = not {"tokenizer", f"data.{side}"}.isdisjoint(settings.given)
        wanted = dict(node) | {"_target_": target_of(f"data.{side}", node._target_)}
        has = {"_target_": type(own), **own.arguments}
        for name in node:
            is_given = (
                is_chosen
                or f"data.{side}.{name}" in settings.given
                or f"data.tokenizer.{name}" in settings.given
            )
            if is_given and name in has and wanted[name] not in (None, has[name]):
                raise InputError(
                    f"data.{side}.{name}={node[name]}: init_from keeps the tokenizers of its model, which have "
                    f"{name}={getattr(has[name], '__name__', has[name])}: "
                    "leave this out"
                )


def has_own_classes(config: DictConfig) -> bool:
    """Return whether model or data are made of classes that are not this program's."""
    parts = [OmegaConf.to_container(config[name]) for name in ("model", "data")]
    return any(not is_within(target, ["seq2seq"]) for target in named(parts))


def prepare(
    data: "TranslationDataModule", settings: Settings, values: Mapping[str, Any], first: bool
) -> "Prepared":
    """Fit tokenizers that are not there yet, and encode the splits."""
    from seq2seq.data.report import corpus_summary

    data.batch_size = settings.config.data.get("batch_size", data.batch_size)
    prepared, metric = data.prepared, str(settings.config.metric)
    if metric.startswith("test/") and prepared.test is None:
        raise InputError(f"metric={metric}: there is no test split; choose metric=val/{metric[5:]}")
    if first:
        print("".join(f"note        {note}\n" for note in settings.notes), end="")
        print(f"{said(values)}{corpus_summary(data)}", flush=True)
    return prepared


def build_module(settings: Settings, data: "Prepared") -> "TranslationModule":
    """Build the model and the Lightning module that trains it.

    Raises:
        InputError: Parts do not match, or the model to start from has other sizes.
    """
    from seq2seq.data.vocabulary import PADDING_ID
    from seq2seq.models.folder import load_model_folder
    from seq2seq.models.limits import LengthLimits
    from seq2seq.models.start import start_from

    config, tokens = settings.config, {}
    is_shared = data.source_tokenizer.vocabulary == data.target_tokenizer.vocabulary
    if config.model.get("tie_embeddings") == "all" and not is_shared:  # two may have one size
        raise InputError("model.tie_embeddings=all needs one vocabulary: set data.joint_vocabulary=true")
    if config.model.get("source_vectors") or config.model.get("target_vectors"):
        tokens = {
            "source_tokens": data.source_tokenizer.vocabulary,
            "target_tokens": data.target_tokenizer.vocabulary,
        }
    model = build(config.model)(
        source_vocab_size=data.source_tokenizer.vocab_size,
        target_vocab_size=data.target_tokenizer.vocab_size,
        padding_id=PADDING_ID,
        **tokens,
    )
    if config.init_from is not None:
        saved = load_model_folder(config.init_from, trust_custom_code=has_own_classes(config))
        start_from(model, saved.model, f"init_from={config.init_from}")
    if config.trainer.get("precision") in ("64-true", "64", 64):
        model.double()  # Lightning does so after callbacks have copied the model
    optimizer = build(config.optimizer)
    scheduler = build(config.scheduler) if config.scheduler else None
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    if config.decoding.get("max_ratio") is not None:
        parts["limits"] = LengthLimits(max_ratio=config.decoding.max_ratio)
    return build(config.module, _partial_=True)(**parts)


def build_trainer(settings: Settings, step: int | None) -> "pl.Trainer":
    """Build the trainer with its callbacks and loggers; a training that continues has reached `step`.

    Raises:
        InputError: `lightning.Trainer` refuses an argument.
    """
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch.callbacks import Checkpoint, ProgressBar
    from lightning.pytorch.loggers import TensorBoardLogger

    config = settings.config
    # what an earlier start wrote after the checkpoint is hidden
    purged = {"purge_step": 0 if step is None else step + 1}
    loggers = []
    for name, node in config.logger.items():
        if node:
            kind = target_of(f"logger.{name}", node._target_)
            writes_events = isinstance(kind, type) and issubclass(kind, TensorBoardLogger)
            loggers.append(build(node, **(purged if writes_events else {})))
    callbacks = [build(node) for node in config.callbacks.values() if node]
    for key, kind in (("enable_progress_bar", ProgressBar), ("enable_checkpointing", Checkpoint)):
        if not config.trainer.get(key, True):  # such as in a pipe
            callbacks = [each for each in callbacks if not isinstance(each, kind)]
    try:
        return build(config.trainer, _partial_=True)(callbacks=callbacks, logger=loggers)
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"trainer: {error!s:.300}") from error
