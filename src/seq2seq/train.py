"""The procedure of a run, read from top to bottom: data, model, training, export, scores.

`run` takes a configuration, as `train.py` composes it; `seq2seq.api.train` is the same from Python. A run leaves in its
folder: ``.hydra/`` and ``config.yaml`` (the configuration), ``tokenizers/``, ``checkpoints/``, TensorBoard's
event files, ``model/`` (the exported model), ``predictions/`` and ``metrics.json``.
"""

import difflib
import logging
import math
import os
import re
import sys
import time
import warnings
import zlib
from collections.abc import Collection
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from seq2seq import auto_config
from seq2seq.directions import check_callbacks, complete_callbacks
from seq2seq.errors import InputError
from seq2seq.messages import OBJECTS, check_arguments
from seq2seq.publish import commit_of_program
from seq2seq.run_folder import (
    clear,
    finished_metrics,
    from_here,
    lock,
    metric_of,
    read_json,
    summary,
    write_json,
    write_text,
    write_tokenizers,
)

# Where Lightning looks for its rank_zero_only.rank, which would be slow to import for a finished run.
RANKS = "RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"


def run_name(overrides: str) -> str:
    """Return the name of a run from its overrides, ``key=value,…``; ``default`` without any."""
    name = re.sub(r"[^\w.,=+-]+", "-", overrides) or "default"
    if len(name) > 150:
        name = f"{name[:140]}-{zlib.crc32(name.encode()):08x}"
    return name


OmegaConf.register_new_resolver("run_name", run_name, replace=True)


def run(config: DictConfig, run_dir: str | Path | None = None) -> float | None:
    """Train a model, export it and score it; continue or report what the folder already holds.

    Args:
        config: The composed configuration.
        run_dir: Folder of the run; None: where Hydra put it.

    Returns:
        The metric that ``metric=…`` names, for sweepers; None on all processes but the first.

    Raises:
        InputError: The configuration, a file or the folder is wrong.
        TrainingFailed: Training cannot go on.
        TrainingInterrupted: A signal stopped training after a checkpoint was saved.
    """
    run_dir = Path(run_dir or HydraConfig.get().runtime.output_dir)
    config.paths.run_dir = str(run_dir)
    if not isinstance(config.seed, int) or not 0 <= config.seed < 2**32:
        raise InputError(f"seed={config.seed}: a whole number from 0 to 2^32 - 1 is needed")
    resolved = OmegaConf.to_container(config, resolve=True)
    first = next((os.environ[name] for name in RANKS if name in os.environ), "0") == "0"
    dry = bool(config.trainer.fast_dev_run)  # Lightning then writes nothing

    with lock(run_dir) if first and not dry else nullcontext():
        # 1. What the folder holds: a finished run, for which nothing heavy is imported, one to continue, or nothing.
        try:
            finished = None if config.overwrite or dry else finished_metrics(run_dir, resolved)
        except InputError:
            for node in OBJECTS:  # a mistyped argument is a difference, too: the message about it comes first
                check_arguments(config[node], node)
            raise
        if finished is not None:
            if first:
                print(
                    f"{from_here(run_dir)} is finished; name=… trains again, a larger trainer.max_epochs goes on"
                )
                print(summary(finished, run_dir))
            return metric_of(finished, config.metric)

        import lightning.pytorch as pl
        import torch

        from seq2seq.corpus_report import corpus_summary
        from seq2seq.data.datamodule import TranslationDataModule
        from seq2seq.data.vocabulary import PADDING_ID
        from seq2seq.decoding.scoring import as_metrics, score_searches
        from seq2seq.decoding.search import search_from_options
        from seq2seq.decoding.translator import Translator
        from seq2seq.export.model_folder import SavedModel, load_model_folder, save_model_folder
        from seq2seq.models.limits import LengthLimits
        from seq2seq.training.callbacks import BorderCallback, checkpoint_to_keep, fit
        from seq2seq.training.checkpoint import previous, read_checkpoint

        for node in OBJECTS:
            check_arguments(config[node], node)
        resolved = OmegaConf.to_container(config, resolve=True)
        for name in (
            "pytorch.utilities.rank_zero",
            "pytorch.accelerators.cuda",
            "fabric.utilities.distributed",
        ):
            logging.getLogger(f"lightning.{name}").addFilter(is_news)
        for message in ("exists and is not empty", "smaller than the logging interval",
                        "isinstance.treespec, LeafSpec", "was not created with WeightAveraging",
                        "recommended to use .self.log"):  # fmt: skip
            warnings.filterwarnings("ignore", f".*{message}.*")  # true of every continued or small run
        if first and config.overwrite and not dry:
            clear(run_dir)
        last = run_dir / "checkpoints" / "last.ckpt"
        if config.ckpt_path == "last":
            config.ckpt_path = None
        if config.ckpt_path is not None and not Path(config.ckpt_path).is_file():
            raise InputError(f"ckpt_path={config.ckpt_path}: there is no such file")
        has_last = not dry and (last.exists() or previous(last).exists())
        checkpoint = config.ckpt_path or (str(last) if has_last else None)
        started = time.perf_counter()
        pl.seed_everything(config.seed, workers=True, verbose=False)
        if config.threads is not None:
            torch.set_num_threads(config.threads)

        # 2. The trainer, with callbacks and loggers.
        complete_callbacks(config)
        callbacks = [instantiate(node) for node in config.callbacks.values() if node]
        check_callbacks(config, callbacks)
        callbacks.sort(key=lambda each: isinstance(each, BorderCallback))  # they save the others' states
        check_metric(config.metric, config.module.get("metrics") or ())
        if "tensorboard" in config.logger:  # hide what an earlier start wrote after the checkpoint
            purged = read_checkpoint(checkpoint)["global_step"] + 1 if checkpoint else 0
            OmegaConf.update(config, "logger.tensorboard.purge_step", purged, force_add=True)
        loggers = [instantiate(node) for node in config.logger.values() if node]
        try:
            trainer = instantiate(config.trainer, _partial_=True)(callbacks=callbacks, logger=loggers)
        except (ValueError, TypeError) as error:
            raise InputError(f"trainer: {error}") from error

        # 3. Data: read, tokenise, batch. A continued run reads its tokenizers back.
        data = instantiate(config.data)
        if not isinstance(data, TranslationDataModule):
            raise InputError(
                f"data._target_={config.data._target_}: a subclass of seq2seq.data.TranslationDataModule is needed; "
                "with another LightningDataModule, train a TranslationModule by lightning.Trainer"
            )
        data.prepare_data()
        automatic = run_dir / "auto_config.json"
        stored = read_json(automatic) if checkpoint and automatic.is_file() else {}
        chosen = _choose_by_size(config, data, stored)
        trainer.check_val_every_n_epoch = config.trainer.check_val_every_n_epoch
        if chosen and first:
            print(f"automatic   {' '.join(f'{key}={value}' for key, value in chosen.items())}")
            if not dry:
                write_json(automatic, chosen)
        # A folder may be downloaded. Classes of other packages that it names are imported only if this configuration names
        # such classes itself.
        parts = OmegaConf.to_yaml(config.model) + OmegaConf.to_yaml(config.data)
        own_classes = re.search(r"_target_: (?!seq2seq\.)", parts) is not None
        saved = None
        if config.init_from is not None:
            saved = load_model_folder(config.init_from, trust_custom_code=own_classes)
            data.source_tokenizer, data.target_tokenizer = saved.source_tokenizer, saved.target_tokenizer
        elif checkpoint is not None and (run_dir / "tokenizers").is_dir():
            data.load_tokenizers(run_dir / "tokenizers", trust_custom_code=own_classes)
        data.setup("fit")
        if first:
            print(corpus_summary(data))
        limits = LengthLimits.fitted(data.train.source.lengths, data.train.target.lengths)
        if config.decoding.max_ratio is not None:
            limits = LengthLimits(max_ratio=config.decoding.max_ratio)

        # 4. The model, and what trains it.
        tokens = {}
        if config.model.get("source_vectors") or config.model.get("target_vectors"):
            tokens = {
                "source_tokens": data.source_tokenizer.vocabulary,
                "target_tokens": data.target_tokenizer.vocabulary,
            }
        model = instantiate(config.model)(
            source_vocab_size=data.source_tokenizer.vocab_size,
            target_vocab_size=data.target_tokenizer.vocab_size,
            padding_id=PADDING_ID,
            **tokens,
        )
        if saved is not None:
            try:
                model.load_state_dict(saved.model.state_dict())
            except RuntimeError as error:
                raise InputError(
                    f"init_from={config.init_from}: its model has other sizes: {error}"
                ) from error
        module = instantiate(config.module, _partial_=True)(
            model=model,
            optimizer=instantiate(config.optimizer),
            scheduler=instantiate(config.scheduler) if config.scheduler else None,
        )
        module.limits = limits
        # 5. Training.
        if first and not dry:
            (run_dir / "metrics.json").unlink(missing_ok=True)  # of the run that is now trained longer
            write_text(run_dir / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(resolved)))
            write_tokenizers(run_dir / "tokenizers", data.save_tokenizers)
        fit(trainer, module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
        if not dry:
            check_trained(trainer, config, data.target_tokenizer.vocab_size, has_checkpoint=last.is_file())
        if dry or not trainer.is_global_zero:
            return None

        # 6. The model that is kept: exported, then scored on whole splits.
        kept = checkpoint_to_keep(trainer, last)
        if kept.is_file():
            module.load_state_dict(read_checkpoint(kept)["state_dict"])
        exported = SavedModel(module.model.eval(), data.source_tokenizer, data.target_tokenizer, limits)
        save_model_folder(run_dir / "model", exported)
        metrics: dict[str, Any] = {}
        translator = Translator.load(run_dir / "model", device=str(module.device), trust_custom_code=True)
        search = search_from_options(
            beam_size=config.decoding.beam_size,
            length_penalty=config.decoding.length_penalty,
            length_penalty_alpha=config.decoding.length_penalty_alpha,
        )
        for split, encoded in (("val", data.validation), ("test", data.test)):
            if encoded is None:
                continue
            scored = score_searches(translator, encoded.pairs, search, metrics=module.metrics)
            metrics[split] = as_metrics(scored)
            texts = {"source": [pair.source for pair in encoded.pairs],
                     "reference": [pair.target for pair in encoded.pairs]}  # fmt: skip
            for name, each in scored.items():
                texts[name.split()[0]] = each.texts
            (run_dir / "predictions").mkdir(exist_ok=True)
            for name, lines in texts.items():
                text = "".join(f"{line}\n" for line in lines)
                write_text(run_dir / "predictions" / f"{split}.{name}.txt", text)
        metrics |= {
            "seconds": round(time.perf_counter() - started, 1),
            "parameters": sum(each.numel() for each in module.model.parameters()),
            "epochs": trainer.fit_loop.epoch_progress.total.started,
            "steps": trainer.global_step,
            "commit": commit_of_program(),
            "finished": True,
        }
        final = {f"{split}/{name}": value for split in ("val", "test")
                 for name, value in metrics.get(split, {}).get("greedy", {}).items()
                 if isinstance(value, float)}  # fmt: skip
        for logger in trainer.loggers:
            logger.log_metrics({k: v for k, v in final.items() if k.startswith("test/")}, trainer.global_step)
            logger.save()
        write_json(run_dir / "metrics.json", metrics)
        print(summary(metrics, run_dir, [pair.source for pair in (data.test or data.validation).pairs[:3]]))
        return metric_of(metrics, config.metric)


def is_news(record: logging.LogRecord) -> bool:
    """Return whether to show a line of Lightning's log: not the machine, nor what every run prints."""
    usual = r"\W*(GPU|TPU|Using|LOCAL_RANK|You are using|Tip|Restor|Found current|Trainer.fit|Initializing|distributed|All dist)"
    return re.match(usual, record.getMessage()) is None


def check_trained(trainer: Any, config: DictConfig, num_tokens: int, *, has_checkpoint: bool) -> None:
    """Refuse to export weights that no step has trained, and warn of a loss that is no better than guessing.

    Raises:
        InputError: There was no step, and `init_from` names no model whose weights they are.
    """
    if trainer.global_step == 0 and not has_checkpoint and config.init_from is None:
        asked = ("max_epochs", "max_steps", "limit_train_batches", "overfit_batches", "max_time")
        given = [f"trainer.{key}={config.trainer[key]}" for key in asked if key in config.trainer]
        raise InputError(f"no step was trained, so there is no model to keep: see {', '.join(given)}")
    losses = trainer.callback_metrics
    name = "val/loss" if "val/loss" in losses else "train/loss"
    if name in losses and trainer.is_global_zero and not float(losses[name]) < math.log(num_tokens):
        print(
            f"WARNING: the last {name} is {float(losses[name]):.4g} nats per token, no better than guessing one of "
            f"{num_tokens:,} tokens ({math.log(num_tokens):.2f}): lower optimizer.lr={config.optimizer.get('lr')}, "
            "or train longer",
            file=sys.stderr,
        )


def check_metric(name: str, own: Collection[str] = ()) -> None:
    """Refuse the name of a metric that no run has.

    Args:
        name: Such as ``val/bleu``.
        own: Names of the user's own scores.

    Raises:
        InputError: The name has no known split, search or score.
    """
    from seq2seq.evaluation.metrics import METRICS

    split, *search, score = name.split("/")
    known = [*(each for each, metric in METRICS.items() if metric.score is not None), *own]
    if split not in ("val", "test") or search not in ([], ["greedy"], ["beam"]) or score not in known:
        nearest = difflib.get_close_matches(score, known, n=1)
        hint = f"did you mean {split}/{nearest[0]}? " if nearest else ""
        raise InputError(
            f"metric={name}: there is no such score; {hint}write val/NAME, or val/beam/NAME for beam search, with one "
            f"of {', '.join(known)}"
        )


def _choose_by_size(config: DictConfig, data: Any, stored: dict[str, Any]) -> dict[str, Any]:
    """Fill values that are null by the number of training pairs, see `seq2seq.auto_config`.

    Args:
        config: Is changed.
        data: Its data module, the batch size of which is set.
        stored: The values of an earlier start of this run, which are used again.

    Returns:
        The values by key.
    """
    trainer, chosen = config.trainer, {}
    limits = trainer.max_epochs, trainer.max_steps

    def choose(key: str, value: Any) -> None:
        chosen[key] = stored.get(key, value)
        OmegaConf.update(config, key, chosen[key])

    processes = trainer.get("devices", 1) if isinstance(trainer.get("devices", 1), int) else 1
    pairs = data.num_pairs / max(processes * trainer.get("num_nodes", 1), 1)
    if data.batch_size is None and data.max_tokens is None:
        choose("data.batch_size", auto_config.batch_size(pairs, *limits, trainer.accumulate_grad_batches))
        data.batch_size = config.data.batch_size
    of_step = (data.batch_size or 128) * trainer.accumulate_grad_batches
    num_passes = auto_config.passes(pairs, *limits, of_step)
    of_embeddings, of_states = auto_config.dropouts(max(num_passes, 0.1))
    for side in ("encoder", "decoder"):
        for key, value in (("dropout", of_states), ("embedding_dropout", of_embeddings)):
            node = config.model[side]
            if key in node and node[key] is None and (key == "dropout" or f"model.{side}.dropout" in chosen):
                choose(f"model.{side}.{key}", value)
    if trainer.check_val_every_n_epoch is None:
        epochs = max(1, round(num_passes)) if trainer.max_steps >= 0 else trainer.max_epochs
        choose("trainer.check_val_every_n_epoch", auto_config.validation_interval(epochs))
    return chosen
