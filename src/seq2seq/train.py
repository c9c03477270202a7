"""The procedure of a run, read from top to bottom: data, model, training, export, scores.

`run` takes a configuration, as `train.py` composes it; `train` is the same from Python. A run leaves in its
folder: ``.hydra/`` and ``config.yaml`` (the configuration), ``tokenizers/``, ``checkpoints/``, TensorBoard's
event files, ``model/`` (the exported model), ``predictions/`` and ``metrics.json``.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from seq2seq.cli.messages import CONF, check_arguments
from seq2seq.errors import InputError

OBJECTS = "data", "model", "module", "optimizer", "scheduler", "trainer", "callbacks", "logger"
"""The nodes of the configuration that become objects."""

FREE = (
    "paths.", "hydra.", "name", "threads", "ckpt_path", "overwrite", "metric", "logger.", "decoding.",
    "trainer.max_epochs", "trainer.max_steps", "trainer.enable_", "trainer.log_every", "trainer.profiler",
    "trainer.default_root_dir", "callbacks.attention.", "callbacks.samples.", "callbacks.epoch_lines.",
    "callbacks.checkpoint.dirpath",
)  # fmt: skip
"""Keys that may change between a run and its continuation: longer training, other pictures and places."""


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
    OmegaConf.set_struct(config, True)
    run_dir = Path(run_dir or HydraConfig.get().runtime.output_dir)
    config.paths.run_dir = str(run_dir)
    for node in OBJECTS:
        check_arguments(config[node], node)

    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.utilities import rank_zero_only

    first = (rank_zero_only.rank or 0) == 0
    resolved = OmegaConf.to_container(config, resolve=True)
    dry = bool(config.trainer.fast_dev_run)  # Lightning then writes nothing

    with _locked(run_dir) if first else nullcontext():
        # 1. What the folder holds: nothing, a run to continue, or a finished run.
        if first and config.overwrite:
            _empty(run_dir)
        if not dry:
            _refuse_other_run(run_dir, resolved)
        finished = _finished(run_dir)
        if finished is not None and not _is_longer(config, run_dir):
            if first:
                print(f"{run_dir} is finished; name=… trains again, a larger trainer.max_epochs goes on")
                print(summary(finished, run_dir))
            return metric_of(finished, config.metric)
        last = run_dir / "checkpoints" / "last.ckpt"
        checkpoint = config.ckpt_path or (str(last) if last.exists() and not dry else None)
        if checkpoint is not None and not Path(checkpoint).is_file():
            raise InputError(f"ckpt_path={checkpoint}: there is no such file")

        # 2. Data: read, tokenise, batch. A continued run reads its tokenizers back.
        started = time.perf_counter()
        pl.seed_everything(config.seed, workers=True, verbose=False)
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        data = instantiate(config.data)
        saved = None
        if config.init_from is not None:
            from seq2seq.export.model_folder import load_model_folder

            saved = load_model_folder(config.init_from)
            data.source_tokenizer, data.target_tokenizer = saved.source_tokenizer, saved.target_tokenizer
        elif checkpoint is not None and (run_dir / "tokenizers").is_dir():
            data.load_tokenizers(run_dir / "tokenizers")
        data.prepare_data()
        data.read_once()
        _choose_by_size(config, data, first=first)
        data.setup("fit")
        if first:
            print(data.summary())

        # 3. The model, and what trains it.
        from seq2seq.data.vocabulary import PADDING_ID

        model = instantiate(config.model)(
            source_vocab_size=data.source_tokenizer.vocab_size,
            target_vocab_size=data.target_tokenizer.vocab_size,
            padding_id=PADDING_ID,
        )
        if saved is not None:
            model.load_state_dict(saved.model.state_dict())
        module = instantiate(config.module, _partial_=True)(
            model=model,
            optimizer=instantiate(config.optimizer),
            scheduler=instantiate(config.scheduler) if config.scheduler else None,
        )
        callbacks = [instantiate(node) for node in config.callbacks.values() if node]
        if checkpoint is not None and "tensorboard" in config.logger:  # hide what is written again
            step = torch.load(checkpoint, map_location="cpu", weights_only=True)["global_step"]
            OmegaConf.update(config, "logger.tensorboard.purge_step", step + 1, force_add=True)
        loggers = [instantiate(node) for node in config.logger.values() if node]
        trainer = instantiate(config.trainer, _partial_=True)(callbacks=callbacks, logger=loggers)

        # 4. Training.
        if first and not dry:
            run_dir.mkdir(parents=True, exist_ok=True)
            OmegaConf.save(OmegaConf.create(resolved), run_dir / "config.yaml")
            data.save_tokenizers(run_dir / "tokenizers")
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint)
        if dry:
            return None
        if not trainer.is_global_zero:
            return None

        # 5. The model that is kept: exported, then scored on whole splits.
        from seq2seq.decoding.translator import Translator
        from seq2seq.export.model_folder import save_model_folder

        best = getattr(trainer.checkpoint_callback, "best_model_path", "") or str(last)
        if Path(best).is_file():
            module.load_state_dict(torch.load(best, map_location="cpu", weights_only=True)["state_dict"])
        save_model_folder(
            run_dir / "model", module.model, data.source_tokenizer, data.target_tokenizer,
            limits=data.length_limits(config.decoding.max_ratio),
        )  # fmt: skip
        metrics: dict[str, Any] = {
            "parameters": sum(each.numel() for each in model.parameters()),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
        }
        translator = Translator.load(run_dir / "model", device=str(module.device))
        for split, pairs in (("val", data.validation.pairs), ("test", data.test and data.test.pairs)):
            if pairs:
                metrics[split] = _scores(translator, pairs, split, run_dir, config)
        metrics["seconds"] = round(time.perf_counter() - started, 1)
        for logger in trainer.loggers:
            scores = {f"test/{name}": value for name, value in metrics.get("test", {}).get("greedy", {}).items()
                      if isinstance(value, float)}  # fmt: skip
            logger.log_metrics(scores, trainer.global_step)
            logger.finalize("success")
        _write_json(run_dir / "metrics.json", metrics)
        print(summary(metrics, run_dir, [pair.source for pair in (data.test or data.validation).pairs[:3]]))
        return metric_of(metrics, config.metric)
