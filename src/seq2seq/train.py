"""The procedure of a run, read from top to bottom: data, model, training, export, scores.

`run` takes a configuration, as `train.py` composes it; `train` is the same from Python. A run leaves in its
folder: ``.hydra/`` and ``config.yaml`` (the configuration), ``tokenizers/``, ``checkpoints/``, TensorBoard's
event files, ``model/`` (the exported model), ``predictions/`` and ``metrics.json``.
"""

import json
import logging
import os
import re
import shlex
import shutil
import sys
import time
import warnings
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
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
    "callbacks.checkpoint.dirpath", "init_from",
)  # fmt: skip
"""Keys that may change between a run and its continuation: longer training, other pictures and places."""


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
    for node in OBJECTS:
        check_arguments(config[node], node)
    resolved = OmegaConf.to_container(config, resolve=True)

    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.utilities import rank_zero_only

    from seq2seq.data.vocabulary import PADDING_ID
    from seq2seq.decoding.scoring import as_metrics, score_searches
    from seq2seq.decoding.search import search_from_options
    from seq2seq.decoding.translator import Translator
    from seq2seq.export.model_folder import SavedModel, load_model_folder, save_model_folder
    from seq2seq.models.limits import LengthLimits
    from seq2seq.training.checkpoint import read_checkpoint

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", ".*exists and is not empty.*")  # said of every continued run
    warnings.filterwarnings("ignore", ".*smaller than the logging interval.*")
    warnings.filterwarnings("ignore", ".*dirpath has changed.*")  # ckpt_path of another run
    warnings.filterwarnings("ignore", ".*isinstance.treespec, LeafSpec.*")  # Lightning's own use of torch
    warnings.filterwarnings("ignore", ".*was not created with WeightAveraging.*")
    first = (rank_zero_only.rank or 0) == 0
    dry = bool(config.trainer.fast_dev_run)  # Lightning then writes nothing

    with _locked(run_dir) if first and not dry else nullcontext():
        # 1. What the folder holds: nothing, a run to continue, or a finished run.
        if first and config.overwrite:
            _empty(run_dir)
        if not dry:
            finished = _held(run_dir, resolved)
            if finished is not None:
                if first:
                    print(
                        f"{_from_here(run_dir)} is finished; name=… trains again, a larger trainer.max_epochs goes on"
                    )
                    print(summary(finished, run_dir))
                return metric_of(finished, config.metric)
        last = run_dir / "checkpoints" / "last.ckpt"
        checkpoint = config.ckpt_path or (str(last) if last.exists() and not dry else None)
        if checkpoint is not None and not Path(checkpoint).is_file():
            raise InputError(f"ckpt_path={checkpoint}: there is no such file")
        started = time.perf_counter()
        pl.seed_everything(config.seed, workers=True, verbose=False)
        if config.threads is not None:
            torch.set_num_threads(config.threads)

        # 2. The trainer, with callbacks and loggers.
        callbacks = [instantiate(node) for node in config.callbacks.values() if node]
        if checkpoint is not None and "tensorboard" in config.logger:  # hide what is written again
            step = read_checkpoint(checkpoint)["global_step"]
            OmegaConf.update(config, "logger.tensorboard.purge_step", step + 1, force_add=True)
        loggers = [instantiate(node) for node in config.logger.values() if node]
        trainer = instantiate(config.trainer, _partial_=True)(callbacks=callbacks, logger=loggers)

        # 3. Data: read, tokenise, batch. A continued run reads its tokenizers back.
        data = instantiate(config.data)
        data.prepare_data()
        _choose_by_size(config, data, first=first)
        saved = None
        if config.init_from is not None:
            saved = load_model_folder(config.init_from, trust_custom_code=True)
            data.source_tokenizer, data.target_tokenizer = saved.source_tokenizer, saved.target_tokenizer
        elif checkpoint is not None and (run_dir / "tokenizers").is_dir():
            data.load_tokenizers(run_dir / "tokenizers")
        data.setup("fit")
        if first:
            print(data.summary())
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
            OmegaConf.save(OmegaConf.create(resolved), run_dir / "config.yaml")
            data.save_tokenizers(run_dir / "tokenizers")
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
        if dry or not trainer.is_global_zero:
            return None

        # 6. The model that is kept: exported, then scored on whole splits.
        best = getattr(trainer.checkpoint_callback, "best_model_path", "") or str(last)
        if Path(best).is_file():
            module.load_state_dict(read_checkpoint(best)["state_dict"])
        exported = SavedModel(module.model.eval(), data.source_tokenizer, data.target_tokenizer, limits)
        save_model_folder(run_dir / "model", exported)
        metrics: dict[str, Any] = {}
        translator = Translator.load(run_dir / "model", device=str(module.device), trust_custom_code=True)
        search = search_from_options(
            beam_size=config.decoding.beam_size,
            length_penalty=config.decoding.length_penalty,
            alpha=config.decoding.alpha,
        )
        for split, encoded in (("val", data.validation), ("test", data.test)):
            if encoded is None:
                continue
            scored = score_searches(translator, encoded.pairs, search)
            metrics[split] = as_metrics(scored)
            texts = {"source": [pair.source for pair in encoded.pairs],
                     "reference": [pair.target for pair in encoded.pairs]}  # fmt: skip
            for name, each in scored.items():
                texts[name.split()[0]] = each.texts
            (run_dir / "predictions").mkdir(exist_ok=True)
            for name, lines in texts.items():
                text = "".join(f"{line}\n" for line in lines)
                (run_dir / "predictions" / f"{split}.{name}.txt").write_text(text, encoding="utf-8")
        metrics |= {
            "seconds": round(time.perf_counter() - started, 1),
            "parameters": sum(each.numel() for each in module.model.parameters()),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
            "finished": True,
        }
        final = {f"{split}/{name}": value for split in ("val", "test")
                 for name, value in metrics.get(split, {}).get("greedy", {}).items()
                 if isinstance(value, float)}  # fmt: skip
        for logger in trainer.loggers:
            logger.log_metrics({k: v for k, v in final.items() if k.startswith("test/")}, trainer.global_step)
            logger.save()
        _write_json(run_dir / "metrics.json", metrics)
        print(summary(metrics, run_dir, [pair.source for pair in (data.test or data.validation).pairs[:3]]))
        return metric_of(metrics, config.metric)


def _choose_by_size(config: DictConfig, data: Any, *, first: bool) -> None:
    """Fill values that are null by the number of training pairs, see `seq2seq.data.sizes`."""
    from seq2seq.data import sizes

    trainer, chosen = config.trainer, {}
    processes = trainer.get("devices", 1) if isinstance(trainer.get("devices", 1), int) else 1
    pairs = data.num_pairs / max(processes * trainer.get("num_nodes", 1), 1)
    if data.batch_size is None and data.max_tokens is None:
        data.batch_size = sizes.batch_size(
            pairs, trainer.max_epochs, trainer.max_steps, trainer.accumulate_grad_batches
        )
        chosen["data.batch_size"] = config.data.batch_size = data.batch_size
    of_step = (data.batch_size or 128) * trainer.accumulate_grad_batches
    num_passes = sizes.passes(pairs, trainer.max_epochs, trainer.max_steps, of_step)
    of_embeddings, of_states = sizes.dropouts(max(num_passes, 0.1))
    for side in ("encoder", "decoder"):
        for key, value in (("dropout", of_states), ("embedding_dropout", of_embeddings)):
            node = config.model[side]
            if key in node and node[key] is None and (key == "dropout" or f"model.{side}.dropout" in chosen):
                node[key] = chosen[f"model.{side}.{key}"] = value
    if trainer.check_val_every_n_epoch is None:
        epochs = max(1, round(num_passes)) if trainer.max_steps >= 0 else trainer.max_epochs
        trainer.check_val_every_n_epoch = sizes.validation_interval(epochs)
        chosen["trainer.check_val_every_n_epoch"] = trainer.check_val_every_n_epoch
    if chosen and first:
        print(f"by size     {' '.join(f'{key}={value}' for key, value in chosen.items())}")


def _from_here(path: Path) -> Path:
    """Return a path relative to the working folder where it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _locked(run_dir: Path) -> Any:
    """Lock the folder of a run against other processes.

    Raises:
        InputError: Another process works in it, or it cannot be made.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(run_dir / ".lock", timeout=0)
        lock.acquire()
    except filelock.Timeout as error:
        raise InputError(f"another process works in {run_dir}: wait for its end, or give name=…") from error
    except OSError as error:
        raise InputError(f"{run_dir} cannot be written to ({error.strerror})") from error
    return lock


def _empty(run_dir: Path) -> None:
    """Remove what an earlier run left, except for Hydra's own files of this one."""
    for path in run_dir.iterdir():
        if path.name in (".hydra", ".lock", "train.log"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _held(run_dir: Path, config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the scores of the finished run that the folder holds; None to train or to continue.

    Raises:
        InputError: The folder holds a run of another configuration, or its configuration cannot be read.
    """
    path = run_dir / "config.yaml"
    if not path.is_file():
        return None
    try:
        before = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise InputError(f"{path} cannot be read ({error!s:.100}): give name=… or overwrite=true") from error
    old, new = _flat(before), _flat(config)
    place = old.get("paths.run_dir")  # the folder may have been moved
    old = {k: v.replace(place, str(run_dir)) if place and isinstance(v, str) else v for k, v in old.items()}
    differing = [
        key
        for key in dict.fromkeys([*new, *old])
        if old.get(key) != new.get(key) and not f"{key}.".startswith(tuple(f"{k.rstrip('.')}" for k in FREE))
    ]
    if differing:
        shown = ", ".join(f"{key}={old.get(key)} (now {new.get(key)})" for key in differing[:3])
        more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
        raise InputError(
            f"{run_dir} holds another run: {shown}{more}; choose another name with name=…, or overwrite=true"
        )
    if not (run_dir / "metrics.json").is_file():
        return None
    metrics = json.loads((run_dir / "metrics.json").read_text(encoding="utf-8"))
    longer = new["trainer.max_epochs"] > old["trainer.max_epochs"] or (
        old["trainer.max_steps"] >= 0
        and (new["trainer.max_steps"] < 0 or new["trainer.max_steps"] > old["trainer.max_steps"])
    )
    return None if longer else metrics


def _flat(node: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(node, dict):
        return {k: v for key, value in node.items() for k, v in _flat(value, f"{prefix}{key}.").items()}
    return {prefix.rstrip("."): node}


def _write_json(path: Path, value: Any) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, path)


def metric_of(metrics: dict[str, Any], name: str) -> float | None:
    """Return a metric such as ``val/bleu``, of greedy search; ``val/beam/bleu`` of beam search."""
    split, *search, score = name.split("/")
    found = metrics.get(split, {}).get(search[0] if search else "greedy", {}).get(score)
    if found is None:
        raise InputError(f"metric={name}: there is no such score; write val/bleu or test/beam/chrf")
    return found


def summary(metrics: dict[str, Any], run_dir: Path, examples: Sequence[str] = ()) -> str:
    """Return the scores of a run, where its results are, and what to do next."""
    lines = []
    for split, title in (("val", "validation"), ("test", "test")):
        for search, scores in metrics.get(split, {}).items():
            shown = "   ".join(
                f"{label} {scores[name]:.1f}"
                for name, label in (("bleu", "BLEU"), ("bleu_lowercase", "lower-cased"), ("chrf", "chrF"))
                if name in scores
            )
            lines.append(f"{title:<11} {shown}   ({scores['num_sentences']:,} sentences, {search} search)")
            title = ""  # noqa: PLW2901 - once a split
    signatures = {s["bleu_signature"] for c in metrics.values() if isinstance(c, dict) for s in c.values()}
    lines += [f"BLEU is     {signature}" for signature in sorted(signatures)]
    minutes, seconds = divmod(round(metrics["seconds"]), 60)
    command = "python scripts/translate.py" if Path(sys.argv[0]).name == "train.py" else "seq2seq translate"
    if Path(sys.argv[0]).parent.name == "cli":  # `seq2seq train` puts its own module there
        command = "seq2seq translate"
    run_dir = _from_here(run_dir)
    lines += [
        f"time        {minutes}:{seconds:02d}",
        f"results     {run_dir}",
        f"look        tensorboard --logdir {shlex.quote(str(run_dir.parent))}",
        f"translate   {command} {shlex.quote(str(run_dir))} < sentences.txt",
    ]
    lines += [f"{'' if place else 'examples':<11} {text}" for place, text in enumerate(examples)]
    return "\n".join(lines)


class Run:
    """A finished run, or a model folder: its scores and its model.

    Args:
        folder: Of the run or of the model.
        trust_custom_code: Import the classes that the model names and that are not this program's.
    """

    def __init__(self, folder: str | Path, *, trust_custom_code: bool = False) -> None:
        self.folder, self.trust_custom_code = Path(folder).absolute(), trust_custom_code

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: scores by split and search, then facts of the run."""
        path = self.folder / "metrics.json"
        if not path.is_file():
            raise InputError(f"{self.folder} holds no finished run")
        return json.loads(path.read_text(encoding="utf-8"))

    @cached_property
    def translator(self) -> Any:
        """The `Translator` of the model: text in, translations with attention out."""
        from seq2seq.decoding.translator import Translator

        return Translator.load(self.folder, trust_custom_code=self.trust_custom_code)

    def translate(self, sentences: Sequence[str], **options: Any) -> list[Any]:
        """Translate sentences; options are those of `Translator.translate`."""
        return self.translator.translate(sentences, **options)

    def attention(self, sentence: str, target: str | None = None, *, beam_size: int = 5) -> Any:
        """Return the attention of a translation, or of one that is given, as a notebook shows it."""
        from seq2seq.data.text import SentencePair
        from seq2seq.decoding.forced import force_pairs
        from tensorboard_attention import show

        if target is None:
            (found,) = self.translator.translate([sentence], beam_size=beam_size)
        else:
            (found,) = force_pairs(self.folder, [SentencePair(sentence, target)])
        weights = found.weights if found.heads is None else found.heads
        return show(weights, found.source_tokens, found.target_tokens, score=found.score)


def load(folder: str | Path, *, trust_custom_code: bool = False) -> Run:
    """Open a finished run or a model folder; `trust_custom_code` imports classes of yours that it names.

    Raises:
        InputError: There is none.
    """
    found = Run(folder, trust_custom_code=trust_custom_code)
    if not ((found.folder / "config.json").is_file() or (found.folder / "model" / "config.json").is_file()):
        raise InputError(f"{folder} holds no model: give a run folder or a model folder")
    return found


def train(
    *overrides: str,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    validation: tuple[Sequence[str], Sequence[str]] | None = None,
    test: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Run:
    """Train a model, as ``python train.py OVERRIDES`` does.

    Args:
        *overrides: ``key=value`` or ``group=choice``, such as ``"attention=dot"``.
        source: Sentences to train on, in place of a corpus that ``data=…`` names.
        target: The translation of each.
        validation: Source and target sentences that are held out; without them give
            ``data.validation.fraction=…``.
        test: The same.

    Raises:
        InputError: An override or the text is wrong.
        TrainingFailed: Training cannot go on.
    """
    given = list(overrides)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        if source is not None or target is not None:
            runs_dir = Path(
                compose("config", [o for o in given if o.startswith("paths.runs_dir=")]).paths.runs_dir
            )
            splits = {"train": (source, target), "validation": validation, "test": test}
            given = [*_written(splits, runs_dir / ".text"), *given]
        config = compose("config", given, return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    run_dir = Path(config.hydra.run.dir)
    OmegaConf.set_readonly(config.hydra, False)
    task = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    run(task, run_dir)
    GlobalHydra.instance().clear()
    return Run(run_dir, trust_custom_code=True)


def _written(splits: dict[str, Any], folder: Path) -> list[str]:
    """Write sentences into files that are named by what they hold; return the overrides that name them."""
    import hashlib

    texts = {}
    for split, pairs in splits.items():
        if pairs is None:
            continue
        sides = [None if side is None else list(side) for side in pairs]
        if None in sides or len(sides[0]) != len(sides[1]):
            raise InputError(
                f"{split}: source and target are lists of one length, the n-th translates the n-th"
            )
        for name, lines in zip(("source", "target"), sides, strict=True):
            for place, line in enumerate(lines):
                if not isinstance(line, str) or "\n" in line:
                    raise InputError(f"{split} {name}[{place}] is no line of text: {line!r:.40}")
            texts[f"{split}.{name}"] = "".join(f"{line}\n" for line in lines)
    digest = hashlib.sha256("\0".join([*texts, *texts.values()]).encode()).hexdigest()[:12]
    (folder / digest).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / digest / name).write_text(text, encoding="utf-8")
    return ["data=parallel", *(f"data.{name}={folder / digest / name}" for name in texts)]
