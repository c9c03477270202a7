"""The procedure of a run, read from top to bottom: settings, folder, data, sizes, module, trainer, fit, export, scores.

`run` takes settings, as `train.py` composes them; `seq2seq.cli.api.train` is the same from Python. A run leaves in its
folder: ``.hydra/`` and ``config.yaml`` (the configuration), ``train.log``, ``tokenizers/``, ``checkpoints/``,
TensorBoard's event files, ``model/`` (the exported model), ``predictions/`` and ``metrics.json``.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from hydra_checked.program import given_keys
from seq2seq.common.errors import InputError, TrainingFailed
from seq2seq.common.progress import announce, warn
from seq2seq.common.written import Written, claim, event_files
from seq2seq.data.addresses import is_address, listed_in, matching
from seq2seq.evaluation.metrics import metric_of
from seq2seq.run.building import build_module, build_trainer, prepare, read_data
from seq2seq.run.checks import check_early, checkpoint_files, directions
from seq2seq.run.earlier import Earlier, earlier_start
from seq2seq.run.finishing import export, facts, log_parameters, log_scores, score
from seq2seq.run.fitting import fit, trained_by
from seq2seq.run.folder import (
    OF_HYDRA,
    at_work,
    kept_files,
    no_empty_folder,
    relative_to_cwd,
    results,
    save_config,
    set_aside,
    write_folder,
    write_json,
    write_text,
)
from seq2seq.run.origin import digests_of, parts_of, require_same_in_sweep
from seq2seq.run.sizes import sizes
from seq2seq.run.summary import commit_of_program, log_start, logged, summary
from seq2seq.settings.config import Settings, complete, settings_of

if TYPE_CHECKING:
    import lightning.pytorch as pl

    from seq2seq.data.datamodule import Prepared

# Where Lightning looks for its rank_zero_only.rank, which would be slow to import for a finished run.
RANKS = "RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"


def task(config: DictConfig) -> float | None:
    """Run a configuration that Hydra composed, in the folder that Hydra made."""
    # oneDNN keeps a compiled program for each shape of a product, and the steps of training have many different
    # numbers of rows. A limit of 64 programs (default: 1,024) saves 15 % of the memory of training recipe=multi30k,
    # at the same speed. A small model in bfloat16 computes about 10 % more slowly; set the variable to 1024 for it.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    with no_empty_folder(folder):
        Written(folder).add(*OF_HYDRA)  # Hydra has written it, also where its log is not `RunLog`
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
    writes = first and not settings.dry  # with fast_dev_run, Lightning writes nothing either
    at_work_there, log = (at_work(folder), folder) if writes else (nullcontext(), None)
    with no_empty_folder(folder), at_work_there as files, logged(log) as told:
        earlier = None if settings.config.overwrite or settings.dry else earlier_start(folder)
        if not (earlier and earlier.scores(settings.values)):  # of a finished run, nothing heavy is imported
            check_early(settings)
            announce("loading PyTorch and Lightning")
            settings = complete(settings)
        if earlier and (metrics := earlier.scores(settings.values)):
            if first:
                tell_finished(earlier, metrics, settings)
            return metric_of(metrics, settings.config.metric)

        places = checkpoint_files(settings.config)
        if files is not None:
            files.require_free(*places)
        settings = settings.updated(directions(settings.config))
        if earlier:
            earlier.require_same(settings.values)
        checkpoint, started = checkpoint_of(settings, folder, earlier), time.perf_counter()
        from seq2seq.training.process import process_of
        from seq2seq.training.resume import in_own_words

        with process_of(settings.config.seed, settings.config.threads, is_first=first):
            step = step_of(checkpoint, tells=first, is_given=checkpoint == settings.config.ckpt_path)
            data = read_data(settings, folder, checkpoint)
            values = sizes(settings.config, data.num_pairs, earlier.values if earlier and checkpoint else {})
            settings = settings.updated(values)
            prepared = prepare(data, settings, values, first)
            module = build_module(settings, prepared)
            parts = parts_of(settings, data)
            trainer = build_trainer(settings, step)
            if writes and (folder / "job.json").is_file():  # of the launcher of subprocesses
                require_same_in_sweep(parts, folder.parent, overwrite=settings.config.overwrite)
            with nullcontext() if files is None else begun(settings, prepared, trainer, files):
                fit(trainer, module, data, settings, checkpoint)
            if settings.dry or not trainer.is_global_zero:
                return None
            with trained_by(settings.config), in_own_words():
                exported, kept = export(module, trainer, prepared, folder, checkpoint)
                metrics = score(exported, module, prepared, settings, folder)
            metrics |= facts(module, trainer, started) | {"kept": kept} | digests_of(parts)
            log_scores(metrics, trainer, settings)
        metrics["warnings"] = [*dict.fromkeys(each.getMessage() for each in told)]
        write_json(folder / "metrics.json", metrics)
        print(summary(metrics, folder))
        return metric_of(metrics, settings.config.metric)


def tell_finished(earlier: Earlier, metrics: dict[str, Any], settings: Settings) -> None:
    """Print the scores of a finished run, and with which search they were found if another is asked for."""
    place = relative_to_cwd(earlier.run_dir)
    longer = "max_time" if metrics.get("out_of_time") else "max_epochs"
    name, goes_on = str(settings.config.name), f"trainer.{longer}=…"
    if str(place).endswith(name):  # else another override would give it another name, and so another folder
        quoted = f"name={name}" if re.fullmatch(r"[\w./-]+", name) else f"\"name='{name}'\""
        goes_on = f"{quoted} {goes_on}"
    print(f"{place} is finished; name=… trains again, {goes_on} goes on")
    print(summary(metrics, earlier.run_dir))
    for text in metrics.get("warnings", ()):
        warn(text)
    if (given := settings.config.ckpt_path) not in (None, "last", earlier.values.get("ckpt_path")):
        warn(f"ckpt_path={given} is not used, as nothing is trained: give name=…")
    written = (earlier.run_dir / "metrics.json").stat().st_mtime
    for key, value in settings.values.items():
        is_file = key.startswith("data.") and isinstance(value, str) and not is_address(value)
        paths = [Path(each) for each in matching(value)] if is_file else []
        if any(path.is_file() and path.stat().st_mtime > written for path in paths):
            warn(f"{key}={value} was written after this run, which has not read it: name=… trains with it")
    if others := earlier.scored_with(settings.values):
        warn(
            f"these scores are with {', '.join(others)}: name=… trains, and seq2seq evaluate {place} scores otherwise"
        )


def checkpoint_of(settings: Settings, folder: Path, earlier: Earlier | None) -> str | None:
    """Return the checkpoint to continue from: the one that is given, or the last one of the folder.

    A checkpoint of another run is used once, at the beginning; the same command again continues from this run's last one.

    Raises:
        InputError: A finished run, which is to be trained longer, has none.
    """
    from lightning_exact_resume import previous

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
    from lightning_exact_resume import CheckpointError, read_checkpoint
    from seq2seq.training.resume import START_AGAIN

    if checkpoint is None:
        return None
    try:
        found = read_checkpoint(checkpoint)
    except CheckpointError as error:
        if not is_given:
            raise TrainingFailed(f"{error}: {START_AGAIN}") from error
        raise InputError(f"ckpt_path={error}: give a checkpoint") from error
    if "global_step" not in found:
        raise InputError(
            f"{checkpoint} holds weights only, not the state of a training: a run or model folder is started from by init_from=FOLDER"
        )
    if tells:
        place = f"after step {found['global_step']:,}, in epoch {found.get('epoch', 0) + 1}"
        print(f"continues   {place}, from {relative_to_cwd(Path(checkpoint))}", flush=True)
    return int(found["global_step"])


@contextmanager
def begun(settings: Settings, data: "Prepared", trainer: "pl.Trainer", files: Written) -> Iterator[None]:
    """Write the configuration that runs, the tokenizers, and the beginning of the log; with ``overwrite``, in place of a run.

    If the training is refused, such as for its checkpoint, the folder stays as it was.
    """
    folder = Path(settings.config.paths.run_dir)
    is_new = settings.config.overwrite or not results(files)
    with set_aside(files) if is_new else kept_files(folder):
        claim_logs(trainer)
        claim(*checkpoint_files(settings.config))
        log_parameters(trainer, settings)
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
