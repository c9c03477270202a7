"""The procedure of a run, read from top to bottom: settings, folder, data, sizes, module, trainer, fit, export, scores.

`run` takes settings, as `train.py` composes them; `seq2seq.api.train` is the same from Python. A run leaves in its
folder: ``.hydra/`` and ``config.yaml`` (the configuration), ``train.log``, ``tokenizers/``, ``checkpoints/``,
TensorBoard's event files, ``model/`` (the exported model), ``predictions/`` and ``metrics.json``.
"""

import logging
import math
import os
import re
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from hydra_checked import objects
from seq2seq.common.arguments import flat
from seq2seq.common.counted import counted
from seq2seq.common.files import is_address, listed_in, matching
from seq2seq.common.progress import announce, warn
from seq2seq.common.trust import is_within
from seq2seq.common.written import Written, claim, event_files, is_own
from seq2seq.errors import InputError, NotFinite, TrainingFailed, TrainingInterrupted
from seq2seq.evaluation.metrics import metric_of
from seq2seq.run.config import Settings, build, complete, given_keys, settings_of, target_of
from seq2seq.run.directions import check_callbacks, checkpoint_files, directions
from seq2seq.run.earlier import Earlier, earlier_start
from seq2seq.run.early import check_early
from seq2seq.run.folder import (
    OF_HYDRA,
    at_work,
    kept_files,
    no_empty_folder,
    one_a_line,
    relative_to_cwd,
    results,
    save_config,
    set_aside,
    write_folder,
    write_json,
    write_text,
    written_in,
)
from seq2seq.run.messages import frames_of_user, message_of
from seq2seq.run.sizes import said, sizes
from seq2seq.run.summary import commit_of_program, log_start, logged, summary

if TYPE_CHECKING:
    import lightning.pytorch as pl

    from seq2seq.data.datamodule import Prepared, TranslationDataModule
    from seq2seq.models.folder import SavedModel
    from seq2seq.models.seq2seq import Seq2Seq
    from seq2seq.training.module import TranslationModule

SEEDS = "PL_GLOBAL_SEED", "PL_SEED_WORKERS"
"""Where Lightning keeps the seed for other processes."""

PARENT = "SEQ2SEQ_PARENT"
"""Where a training keeps its process id for the processes that Lightning starts for it."""

# Where Lightning looks for its rank_zero_only.rank, which would be slow to import for a finished run.
RANKS = "RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"


def task(config: DictConfig) -> float | None:
    """Run a configuration that Hydra composed, in the folder that Hydra made."""
    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    with no_empty_folder(folder):
        written_in(folder).add(*OF_HYDRA)  # Hydra has written it, also where its log is not `RunLog`
        given: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)  # ${…} as it is written
        return run(settings_of(config, given, hydra.runtime.output_dir))


def run(settings: Settings) -> float | None:
    """Train a model, export it and score it; continue or report what the folder already holds.

    Returns:
        The metric that ``metric=…`` names, for sweepers; None on all processes but the first.

    Raises:
        InputError: The configuration, a file or the folder is wrong.
        TrainingFailed: Training cannot go on.
        TrainingInterrupted: A signal stopped training after a checkpoint was saved.
    """
    folder = Path(settings.config.paths.run_dir)
    first = next((os.environ[name] for name in RANKS if name in os.environ), "0") == "0"
    if not first:
        end_with_parent()
    writes = first and not settings.dry  # with fast_dev_run, Lightning writes nothing either
    at_work_there, log = (at_work(folder), folder) if writes else (nullcontext(), None)
    with no_empty_folder(folder), at_work_there as files, logged(log) as told:
        earlier = None if settings.config.overwrite or settings.dry else earlier_start(folder)
        if not (earlier and earlier.scores(settings.config)):  # of a finished run, nothing heavy is imported
            check_early(settings)
            announce("loading PyTorch and Lightning")
            settings = complete(settings)
        if earlier and (metrics := earlier.scores(settings.config)):
            if first:
                tell_finished(earlier, metrics, settings.config)
            return metric_of(metrics, settings.config.metric)

        places = checkpoint_files(settings.config)
        if files is not None:
            files.require_free(*places)
        settings = settings.updated(directions(settings.config))
        if earlier:
            earlier.require_same(settings.config)
        checkpoint, started = checkpoint_of(settings, folder, earlier), time.perf_counter()

        with process_of(settings):
            step = step_of(checkpoint, tells=first, is_given=checkpoint == settings.config.ckpt_path)
            data = read_data(settings, folder, checkpoint)
            values = sizes(settings.config, data.num_pairs, earlier.values if earlier and checkpoint else {})
            settings = settings.updated(values)
            prepared = prepare(data, settings, values, first)
            module = build_module(settings, prepared)
            trainer = build_trainer(settings, step)
            with nullcontext() if files is None else begun(settings, prepared, trainer, files):
                fit(trainer, module, data, settings, checkpoint)
            if settings.dry or not trainer.is_global_zero:
                return None
            with trained_by(settings.config), going_on_after_interrupt():
                exported, kept = export(module, trainer, prepared, folder, checkpoint)
                metrics = score(exported, module, prepared, settings, folder)
            metrics |= facts(module, trainer, started) | {"kept": kept}
            log_scores(metrics, trainer, settings, step)
        metrics["warnings"] = [*dict.fromkeys(each.getMessage() for each in told)]
        write_json(folder / "metrics.json", metrics)
        print(summary(metrics, folder))
        return metric_of(metrics, settings.config.metric)


def tell_finished(earlier: Earlier, metrics: dict[str, Any], config: DictConfig) -> None:
    """Print the scores of a finished run, and with which search they were found if another is asked for."""
    place = relative_to_cwd(earlier.run_dir)
    longer = "max_time" if metrics.get("out_of_time") else "max_epochs"
    name, goes_on = str(config.name), f"trainer.{longer}=…"
    if str(place).endswith(name):  # else another override would give it another name, and so another folder
        quoted = f"name={name}" if re.fullmatch(r"[\w./-]+", name) else f"\"name='{name}'\""
        goes_on = f"{quoted} {goes_on}"
    print(f"{place} is finished; name=… trains again, {goes_on} goes on")
    print(summary(metrics, earlier.run_dir))
    for text in metrics.get("warnings", ()):
        warn(text)
    if config.ckpt_path not in (None, "last", earlier.values.get("ckpt_path")):
        warn(f"ckpt_path={config.ckpt_path} is not used, as nothing is trained: give name=…")
    written = (earlier.run_dir / "metrics.json").stat().st_mtime
    for key, value in flat(OmegaConf.to_container(config.data), "data").items():
        paths = (
            [Path(each) for each in matching(value)]
            if isinstance(value, str) and not is_address(value)
            else []
        )
        if any(path.is_file() and path.stat().st_mtime > written for path in paths):
            warn(f"{key}={value} was written after this run, which has not read it: name=… trains with it")
    if others := earlier.scored_with(config):
        warn(
            f"these scores are with {', '.join(others)}: name=… trains, and seq2seq evaluate {place} scores otherwise"
        )


def end_with_parent() -> None:
    """End this process, one of several of a training, once the process that started it has ended.

    Else it would wait for that process until the time limit of `torch.distributed`, 30 minutes. Processes that
    torchrun or SLURM started are ended by these.
    """
    parent = int(os.environ.get(PARENT, "0"))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        try:
            warn("the first process of this training has ended, so this one ends")
        finally:
            os._exit(1)  # the main thread may be within torch, where no exception reaches it

    if parent and os.name == "posix":
        threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def checkpoint_of(settings: Settings, folder: Path, earlier: Earlier | None) -> str | None:
    """Return the checkpoint to continue from: the one that is given, or the last one of the folder.

    A checkpoint of another run is used once, at the beginning; the same command again continues from this run's last one.

    Raises:
        InputError: A finished run, which is to be trained longer, has none.
    """
    from seq2seq.training.checkpoint import previous

    given, last = settings.config.ckpt_path, folder / "checkpoints" / "last.ckpt"
    is_new = settings.dry or settings.config.overwrite
    has_last = not is_new and (last.exists() or previous(last).exists())
    if given not in (None, "last"):
        is_own = Path(given).resolve().is_relative_to(folder.resolve())
        if is_own and settings.config.overwrite:
            raise InputError(
                f"overwrite=true removes ckpt_path={given}: leave out one of them, or give another name=…"
            )
        has_begun = earlier is not None and earlier.values.get("ckpt_path") == given and not is_own
        if not (has_last and has_begun):
            return str(given)
    if earlier and not has_last and (folder / "metrics.json").is_file():
        raise InputError(
            f"{last} is missing, so this run cannot go on: name=… or overwrite=true trains from the beginning"
        )
    return str(last) if has_last else None


def step_of(checkpoint: str | None, *, tells: bool, is_given: bool) -> int | None:
    """Return the step that a training has reached in a checkpoint, if there is one, and print it if it `tells`.

    Raises:
        InputError: It is no checkpoint of a training.
        TrainingFailed: It is this run's own, not the one that `is_given`, and damaged.
    """
    from seq2seq.training.checkpoint import START_AGAIN, read_checkpoint

    if checkpoint is None:
        return None
    try:
        found = read_checkpoint(checkpoint, advice="give a checkpoint" if is_given else START_AGAIN)
    except TrainingFailed as error:
        if not is_given:
            raise
        raise InputError(f"ckpt_path={error}") from error
    if "global_step" not in found:
        raise InputError(
            f"{checkpoint} holds weights only, not the state of a training: a run or model folder is started from by init_from=FOLDER"
        )
    if tells:
        place = f"after step {found['global_step']:,}, in epoch {found.get('epoch', 0) + 1}"
        print(f"continues   {place}, from {relative_to_cwd(Path(checkpoint))}", flush=True)
    return int(found["global_step"])


@contextmanager
def process_of(settings: Settings) -> Iterator[None]:
    """Set the seed and the threads, and hide what Lightning says of every run; restore all of it."""
    import lightning.pytorch as pl
    import torch
    from lightning.fabric.utilities import disable_possible_user_warnings
    from lightning.pytorch.utilities.seed import isolate_rng

    threads, environment = torch.get_num_threads(), {name: os.environ.get(name) for name in (*SEEDS, PARENT)}
    with isolate_rng(), warnings.catch_warnings():
        disable_possible_user_warnings()  # Lightning's, of small runs
        for message in (
            "exists and is not empty",  # the folder of a run that continues
            "isinstance.treespec, LeafSpec",  # Lightning's own call of torch
            "was not created with WeightAveraging",  # a checkpoint of a run without it
            r"add the following callbacks: \['Timer'\]",  # of trainer.max_time, which may be left out
            "hooks will not be called on every batch",  # but every step, as they are meant to
        ):
            warnings.filterwarnings("ignore", f"(?s).*{message}.*")
        os.environ[PARENT] = str(os.getpid())
        pl.seed_everything(settings.config.seed, workers=True, verbose=False)
        if settings.config.threads is not None:
            torch.set_num_threads(settings.config.threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            for name, value in environment.items():
                os.environ.pop(name, None)
                os.environ |= {} if value is None else {name: value}


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
    parts = (OmegaConf.to_container(config[name]) for name in ("model", "data"))
    return any(not is_within(node["_target_"], ["seq2seq"]) for part in parts for _, node, _ in objects(part))


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

    config, tokens = settings.config, {}
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


def start_from(model: "Seq2Seq", other: "Seq2Seq", key: str) -> None:
    """Give a model the weights of another; warn of arguments by which it computes something else from them.

    Raises:
        InputError: It has other sizes, or one weight where the other has two.
    """
    import torch

    pairs = [flat(each.config or {}, "model") for each in (model, other)]
    shared = [name for name in pairs[0] if name in pairs[1] and not name.endswith("dropout")]
    differing = [name for name in shared if not _are_same(name, *(pair[name] for pair in pairs))]
    named = ", ".join(f"{name}={pairs[1][name]} (now {pairs[0][name]})" for name in differing)
    weights = other.state_dict()
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{key}: its model has other sizes: give {named or f'{error!s:.300}'}") from error
    if not all(
        torch.equal(value.to(weights[name]), weights[name]) for name, value in model.state_dict().items()
    ):
        raise InputError(f"{key}: two of its weights would be one: give {named}")
    if differing:
        warn(f"{key}: its model was trained with {named}: the same weights now compute something else")


def _are_same(name: str, first: Any, second: Any) -> bool:
    """Return whether two arguments are equal, or names of one class of this program, which may have moved."""
    classes = [str(each).rpartition(".")[2] for each in (first, second) if is_within(str(each), ["seq2seq"])]
    return first == second or (name.endswith("_target_") and len(classes) == 2 and classes[0] == classes[1])


def build_trainer(settings: Settings, step: int | None) -> "pl.Trainer":
    """Build the trainer with its callbacks and loggers; a training that continues has reached `step`.

    Raises:
        InputError: `lightning.Trainer` refuses an argument.
    """
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch.callbacks import Checkpoint, LambdaCallback, ProgressBar

    from seq2seq.training.callbacks import StopOnSignal
    from seq2seq.training.checkpoint import BorderCallback

    config = settings.config
    # what an earlier start wrote after the checkpoint is hidden
    purged = {"purge_step": 0 if step is None else step + 1}
    nodes = [(name, node) for name, node in config.logger.items() if node]
    loggers = [build(node, **(purged if name == "tensorboard" else {})) for name, node in nodes]
    callbacks = [build(node) for node in config.callbacks.values() if node]
    check_callbacks(config, callbacks)
    for key, kind in (("enable_progress_bar", ProgressBar), ("enable_checkpointing", Checkpoint)):
        if not config.trainer.get(key, True):  # such as in a pipe
            callbacks = [each for each in callbacks if not isinstance(each, kind)]
    callbacks.sort(key=lambda each: isinstance(each, BorderCallback))  # they save the states of the others
    for each in [
        each for each in callbacks if isinstance(each, StopOnSignal)
    ]:  # its handler comes before all else
        callbacks.insert(0, LambdaCallback(on_sanity_check_start=each.on_sanity_check_start))
    try:
        return build(config.trainer, _partial_=True)(callbacks=callbacks, logger=loggers)
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"trainer: {error!s:.300}") from error


@contextmanager
def begun(settings: Settings, data: "Prepared", trainer: "pl.Trainer", files: Written) -> Iterator[None]:
    """Write the configuration that runs, the tokenizers, and the beginning of the log; with ``overwrite``, in place of a run.

    If the training is refused, such as for its checkpoint, the folder stays as it was.
    """
    folder = Path(settings.config.paths.run_dir)
    is_new = settings.config.overwrite or not results(files)
    with set_aside(files) if is_new else kept_files(folder):
        claim_logs(trainer)
        log_start(settings, commit_of_program())
        (folder / "metrics.json").unlink(missing_ok=True)  # of the run that is now trained longer
        save_config(settings.config, folder)
        # Hydra's own file will be that of the next command, also if that is refused; from Python there is none, or another's
        typed = listed_in(folder / ".hydra" / "overrides.yaml")
        own = typed if given_keys(typed) == settings.given else []
        write_text(folder / "overrides.yaml", OmegaConf.to_yaml(OmegaConf.create(own)))
        write_folder(folder / "tokenizers", data.save_tokenizers)
        yield


def claim_logs(trainer: "pl.Trainer") -> None:
    """List the files of Lightning's loggers, which write on their own."""
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    for logger in trainer.loggers:
        if isinstance(logger, CSVLogger):
            claim(*(Path(logger.log_dir, name) for name in ("metrics.csv", "hparams.yaml")))
        elif isinstance(logger, TensorBoardLogger):
            hparams = Path(logger.log_dir, "hparams.yaml")  # one that is there stays
            claim(Path(logger.log_dir, event_files()), *([] if hparams.exists() else [hparams]))


def warn_of_slow_precision(trainer: "pl.Trainer") -> None:
    """Warn of bfloat16 on a processor that has no instructions for it."""
    import torch

    processor = torch.cpu.get_capabilities()
    is_slow = processor.get("architecture") == "x86_64" and not processor.get("avx512_bf16")
    if is_slow and trainer.precision.startswith("bf16") and trainer.strategy.root_device.type == "cpu":
        warn(
            f"trainer.precision={trainer.precision}: this processor multiplies bfloat16 in software, some ten times as slowly as "
            "trainer.precision=32-true"
        )


def fit(
    trainer: "pl.Trainer", module: "TranslationModule", data: "TranslationDataModule", settings: Settings,
    checkpoint: str | None,
) -> None:  # fmt: skip
    """Train, from a checkpoint if there is one.

    Raises:
        InputError: The checkpoint is of another model or program, or Lightning refuses a value before the first step.
        TrainingFailed: No step has changed the weights.
    """
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    from seq2seq.training.callbacks import fit as fit_or_stop

    warn_of_slow_precision(trainer)
    announce("training" if checkpoint is None else f"training from {checkpoint}")
    before = squares(module)
    try:
        with trained_by(settings.config):
            fit_or_stop(trainer, module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    except (TrainingFailed, TrainingInterrupted):
        if trainer.is_global_zero:  # the first process reports what became of all
            raise
        return
    except Exception as error:
        if message_of(error) is not None or frames_of_user(error):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        if any("checkpoint_connector" in frame.filename for frame in frames):
            raise InputError(f"{checkpoint} does not fit this configuration: {error!s:.150}") from error
        where = Path(frames[-1].filename).parts
        # Lightning refuses values before the first step, but for a monitor, of which a callback knows after an epoch
        has_begun = any(frame.name == "advance" for frame in frames) and "callbacks" not in where
        if isinstance(error, MisconfigurationException) or ("lightning" in where and not has_begun):
            raise InputError(f"trainer: {error!s:.400}") from error
        raise
    if not settings.dry:
        is_new = checkpoint is None and settings.config.init_from is None and trainer.is_global_zero
        pairs = zip(before, squares(module), strict=True)
        check_trained(trainer, settings, data.prepared, checkpoint)
        if is_new and all(math.isclose(*pair, abs_tol=1e-12) for pair in pairs):
            raise TrainingFailed(
                "no step has changed the weights, so there is no model to keep: see the warnings above, optimizer.lr and "
                "trainer.gradient_clip_val"
            )


def squares(module: "TranslationModule") -> list[float]:
    """Return the sum of the squares of each parameter, by which two states of a training differ."""
    return [float(parameter.detach().double().square().sum()) for parameter in module.parameters()]


@contextmanager
def trained_by(config: DictConfig) -> Iterator[None]:
    """Name the keys of a training whose model computes NaN; a model of somebody else has damaged weights.

    Raises:
        TrainingFailed: The model of this training computes NaN or infinity.
    """
    try:
        yield
    except InputError as error:
        causes = error, error.__cause__, getattr(error.__cause__, "__cause__", None)
        if not any(isinstance(each, NotFinite) for each in causes):
            raise
        precision = config.trainer.get("precision")
        other = "" if precision in (None, 32, "32", "32-true") else ", or give trainer.precision=32-true"
        raise TrainingFailed(
            f"the model that was trained computes NaN or infinity; the checkpoints before are kept: lower optimizer.lr{other}"
        ) from error


@contextmanager
def going_on_after_interrupt() -> Iterator[None]:
    """Say after Ctrl-C that the training is done, and what goes on from its last checkpoint.

    Raises:
        TrainingInterrupted: After Ctrl-C.
    """
    from seq2seq.training.callbacks import interrupted

    try:
        yield
    except KeyboardInterrupt as error:
        raise interrupted(signal.SIGINT, "after the training; ") from error


def check_trained(
    trainer: "pl.Trainer", settings: Settings, data: "Prepared", checkpoint: str | None
) -> None:
    """Refuse to export weights that no step has trained, and warn of a loss that is no better than guessing.

    Raises:
        InputError: There was no step, and `init_from` names no model whose weights they are.
    """
    config, num_tokens = settings.config, data.target_tokenizer.vocab_size
    if trainer.global_step == 0 and checkpoint is None and config.init_from is None:
        asked = ("max_epochs", "max_steps", "limit_train_batches", "overfit_batches", "max_time")
        given = [
            f"trainer.{key}={config.trainer[key]}" for key in asked if config.trainer.get(key) is not None
        ]
        raise InputError(f"no step was trained, so there is no model to keep: see {', '.join(given)}")
    losses = trainer.callback_metrics
    name = "val/loss" if "val/loss" in losses else "train/loss"
    if name in losses and trainer.is_global_zero and not float(losses[name]) < math.log(num_tokens):
        warn(
            f"the last {name} is {float(losses[name]):.4g} nats per token, no better than guessing one of "
            f"{num_tokens:,} tokens ({math.log(num_tokens):.2f}): lower optimizer.lr, or train longer"
        )


def export(
    module: "TranslationModule", trainer: "pl.Trainer", data: "Prepared", folder: Path, checkpoint: str | None
) -> tuple["SavedModel", str]:
    """Write the model that is kept, that of the best checkpoint or else of the last; return it, and in words which it is.

    `checkpoint` is where the training continued from; nothing else holds the mean of its weights if no step was left.
    """
    from seq2seq.models.folder import SavedModel, save_model_folder
    from seq2seq.training.callbacks import checkpoint_to_keep, kept_in_words

    announce("exporting the model")
    last = dict.fromkeys([str(folder / "checkpoints" / "last.ckpt"), *([checkpoint] if checkpoint else [])])
    kept = checkpoint_to_keep(trainer, *map(Path, last))
    if kept is not None:
        module.load_state_dict(kept["state_dict"])
    model = module.model.eval()
    tokenizers = data.source_tokenizer, data.target_tokenizer
    exported = SavedModel(model, *tokenizers, module.limits, data.both_directions)
    write_folder(folder / "model", lambda place: save_model_folder(place, exported))
    return exported, kept_in_words(trainer, kept)


def score(
    exported: "SavedModel", module: "TranslationModule", data: "Prepared", settings: Settings, folder: Path
) -> dict[str, Any]:
    """Translate whole splits with the exported model, as it lies in the folder, and return its scores by split."""
    from seq2seq.decoding.scoring import as_metrics, score_searches
    from seq2seq.decoding.search import search_of
    from seq2seq.decoding.translator import Translator

    search, metrics = search_of(settings.config.decoding), {}
    translator = Translator.load(folder / "model", device=str(module.device), trust_custom_code=True)
    translator.tells_long = False  # the table of the splits has their lengths
    (folder / "predictions").mkdir(exist_ok=True)
    for split, encoded in (("val", data.validation), ("test", data.test)):
        if encoded is None:
            continue
        announce(f"scoring {counted(len(encoded.pairs), 'sentence')} of the split {split}")
        scored = score_searches(translator, encoded.pairs, search, metrics=module.metrics)
        metrics[split] = as_metrics(scored)
        texts = {
            "source": [pair.source for pair in encoded.pairs],
            "reference": [pair.target for pair in encoded.pairs],
        }
        if any(pair.languages for pair in encoded.pairs):
            texts["languages"] = [pair.languages for pair in encoded.pairs]
        for name, lines in (texts | {name.split()[0]: each.texts for name, each in scored.items()}).items():
            write_text(folder / "predictions" / f"{split}.{name}.txt", one_a_line(lines))
    return metrics


def facts(module: "TranslationModule", trainer: "pl.Trainer", started: float) -> dict[str, Any]:
    """Return the time, the length and the size of a finished run."""
    from seq2seq.training.callbacks import ResumeState, end_in_words, out_of_time
    from seq2seq.training.checkpoint import callbacks_of

    before = sum(each.seconds_before for each in callbacks_of(trainer) if isinstance(each, ResumeState))
    return {
        "seconds": round(before + time.perf_counter() - started, 1),
        "parameters": sum(parameter.numel() for parameter in module.model.parameters()),
        "epochs": trainer.fit_loop.epoch_progress.total.started,  # type: ignore[attr-defined]  # typed as its base
        "steps": trainer.global_step,
        "commit": commit_of_program(),
        "finished": True,
        "ended": end_in_words(trainer),
        "out_of_time": out_of_time(trainer),
    }


def log_scores(
    metrics: Mapping[str, Any], trainer: "pl.Trainer", settings: Settings, started_at: int | None
) -> None:
    """Log the scores of the test split; to TensorBoard with the overrides, for its HParams tab.

    A start that has trained no step, from the one that it `started_at`, leaves out what an earlier one had logged when
    it was killed.
    """
    from lightning.pytorch.loggers import TensorBoardLogger

    from seq2seq.evaluation.own_metrics import named_by

    given = {"seed": settings.config.seed, **settings.given}
    greedy = metrics.get("test", {}).get("greedy", {})
    scores = {f"test/{name}": value for name, value in greedy.items() if isinstance(value, float)}
    # dots of one step, which TensorBoard shows above the curves: few of them
    own, wanted = settings.config.module.get("metrics") or (), settings.config.metric.rpartition("/")[2]
    chosen = {name for name in greedy if name in ("bleu", "chrf", wanted) or named_by(name, own)}
    few = {name: value for name, value in scores.items() if name.removeprefix("test/") in chosen}
    for logger in trainer.loggers:
        if isinstance(logger, TensorBoardLogger) and few:
            logged = logged_at(logger.log_dir, started_at) if started_at == trainer.global_step else set()
            new = {name: value for name, value in few.items() if name not in logged}
            logger.log_metrics(new, trainer.global_step)
            write_hparams(logger.log_dir, given, few)
        else:
            logger.log_metrics(scores, trainer.global_step)
        logger.save()


def write_hparams(folder: str, given: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    """Write the row of TensorBoard's HParams tab, in the place of that of an earlier start.

    It has a file of events of its own: of all rows in the files of a folder TensorBoard shows the first, which for a
    run that goes on, such as with more epochs, would be overrides beside the scores of other ones. A TensorBoard that
    is open shows the first one until it is started again. The folder may be an address.
    """
    from fsspec import url_to_fs
    from fsspec.implementations.local import LocalFileSystem
    from torch.utils.tensorboard import FileWriter
    from torch.utils.tensorboard.summary import hparams

    # a name of a folder may have ``::``, which would join two addresses
    system, path = url_to_fs(folder) if "://" in folder else (LocalFileSystem(), folder)
    names = [each["name"] for each in system.ls(path, detail=True) if each["type"] == "file"]
    earlier = [
        name for name in names if name.endswith(".hparams") and is_own(Path(folder, name.rpartition("/")[2]))
    ]
    plain = {key: value if is_plain(value) else str(value) for key, value in given.items()}
    writer = FileWriter(folder, filename_suffix=".hparams")
    for each in hparams(plain, dict(scores)):
        writer.add_summary(each)
    writer.close()
    for file in earlier:
        system.rm(file)


def is_plain(value: Any) -> bool:
    """Return whether TensorBoard shows a hyperparameter as it is: it leaves out infinite ones."""
    return isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


def logged_at(folder: str, step: int) -> set[str]:
    """Return the tags of the scalars that the event files of a folder have at a step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logger = logging.getLogger("tensorboard")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it warns of what a killed start has written beyond its last checkpoint
    try:
        events = EventAccumulator(folder, size_guidance={"scalars": 0}).Reload()
    finally:
        logger.setLevel(level)
    return {tag for tag in events.Tags()["scalars"] if any(each.step == step for each in events.Scalars(tag))}
