"""What stands between keys and no bound can say: parts, metrics and their directions, callbacks, devices, starts, files.

`check_keys` and `check_early` need no PyTorch, which takes seconds to load; `directions` and what follows it do.
"""

import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, ListConfig, OmegaConf, read_write

from hydra_checked import did_you_mean
from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn
from seq2seq.data.addresses import is_address, matching
from seq2seq.data.folders import config_of
from seq2seq.settings.application import APPLICATION, CONF, PLACES
from seq2seq.settings.config import Settings, check_values, settings_of, taken_by, target_of
from seq2seq.settings.devices import is_missing

NEEDED = "data", "model", "model.encoder", "model.decoder", "module", "optimizer", "trainer"
"""Objects that a run cannot do without."""

EFFECTS: tuple[tuple[str, str, Any], ...] = (
    ("data.alignments", "module.guided_alignment_weight", 0),
    ("data.max_length.over", "data.max_length.tokens", None),
    ("data.new_tokens", "init_from", None),
    ("module.label_smoothing", "module.objective.cross_entropy_weight", 0),
)
"""Key, and the other key and its value with which the first has no effect."""

LATE = "update_starting_at_step", "update_starting_at_epoch"
"""Arguments of Lightning's exponential moving average."""

FINDERS = {
    "BatchSizeFinder": "data.batch_size=N",
    "LearningRateFinder": "optimizer.lr=RATE, or callbacks=lr_finder, which tells one",
}
"""Callbacks of Lightning that choose a value, and what to give in their place."""

FEW = 16_000_000
"""Bytes of text that are read before PyTorch is loaded; more is read once."""


def check_early(settings: Settings) -> None:
    """Refuse what is wrong for sure; the rest is found when the objects are built.

    Raises:
        InputError: See `check_keys`; or a file or a model to start from is missing, or text cannot be read.
    """
    check_keys(settings)
    values = settings.values
    for key, other, without in EFFECTS:  # a sweep over the other key may have jobs with an effect
        if settings.given.get(key) and values.get(key) and values.get(other, ...) == without:
            warn(f"{key}={values[key]} has no effect with {other}={values[other]}")
    _check_length(settings.config)
    _check_starts(settings.config)
    data: Any = OmegaConf.to_container(settings.config.data)
    _check_text(data)


def check_keys(settings: Settings) -> None:
    """Refuse keys and values that are wrong whatever the files hold.

    Raises:
        InputError: A part is missing, no part has a key, a number is outside its range, or there is no such metric or device.
    """
    for key in (*NEEDED, "decoding"):
        _require(settings.config, key)
    values: Any = OmegaConf.to_container(settings.config)
    check_values(values)
    own = values["module"].get("metrics") or {}
    if not (isinstance(own, dict) and all(_is_node(each) for each in own.values())):
        raise InputError(f"module.metrics={own}: expected names of scores, each with a _target_")
    _check_choices(settings)
    _check_metric(values["metric"], own, values["decoding"].get("beam_size", 1))
    _check_trainer(values["trainer"], settings.given)
    _check_callbacks(values)


def _check_choices(settings: Settings) -> None:
    """Refuse choices and keys of the command line for a part that is not there.

    Raises:
        InputError: Another choice leaves out the part; or a callback or logger has no class.
    """
    for group, place in PLACES.items():
        choice = settings.given.get(group)
        if choice not in (None, "none") and OmegaConf.select(settings.config, place) is None:
            others = [each for each in PLACES if place.startswith(f"{PLACES[each]}.")]
            why = next(
                (f" with {each}={settings.given[each]}" for each in others if each in settings.given), ""
            )
            raise InputError(f"{group}={choice}: there is no {place}{why}: leave out {group}={choice}")
    values: Any = OmegaConf.to_container(settings.config)
    for group in ("callbacks", "logger"):
        for name, node in values[group].items():
            _check_class(f"{group}.{name}", node, settings.given)


def _check_class(place: str, node: Any, given: Mapping[str, Any]) -> None:
    """Refuse keys of a callback or logger that has no class; where a recipe gives them, they are left out."""
    keys = [key for key in given if f"{key}.".startswith(f"{place}.")]
    if not _is_node(node) and (keys or not isinstance(node, dict)):
        needed = APPLICATION.choices_with(keys[0]) if keys else []
        hint = f"that needs {' or '.join(needed)}" if needed else f"give +{place}._target_=…"
        raise InputError(f"{', '.join(keys) or place}: there is no class for {place}; {hint}")


def _is_node(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and "_target_" in value)


def _require(config: DictConfig, key: str) -> None:
    value, group = OmegaConf.select(config, key), key.rpartition(".")[2]
    if value is None or (key in NEEDED and not (isinstance(value, DictConfig) and "_target_" in value)):
        shown = "" if value is None else f"={value!s:.40}"
        choices = ", ".join(sorted(path.stem for path in CONF.glob(f"{group}/*.yaml")))
        hint = f"choose {group}=… of {choices}" if choices else f"give {key}=…"
        raise InputError(f"{key}{shown}: a run needs it; {hint}")


def _check_metric(name: str, own: Mapping[str, Any], beam_size: int) -> None:
    """Refuse the name of a metric that this run does not have; those of `own` are the user's."""
    from seq2seq.evaluation.metrics import METRICS, named_by

    split, _, rest = name.partition("/")
    search, _, score = rest.rpartition("/")
    known = [*(each for each, metric in METRICS.items() if metric.score is not None), *own]
    is_known = score in known or named_by(score, own)
    if split not in ("val", "test") or search not in ("", "greedy", "beam") or not is_known:
        hint = did_you_mean(score or name, known, f"{split if score else 'val'}/")
        raise InputError(
            f"metric={name}: there is no such score; {hint}write val/NAME, or val/beam/NAME for beam search, with one "
            f"of {', '.join(known)}"
        )
    if search == "beam" and beam_size == 1:
        raise InputError(
            f"metric={name}: there is no beam search with decoding.beam_size=1 or decoding=greedy"
        )


def _check_trainer(node: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse arguments of the trainer that this machine or this program does not have."""
    kind, time, limit = node.get("accelerator"), node.get("max_time"), node.get("limit_test_batches")
    if kind in ("gpu", "cuda", "mps") and is_missing(kind):
        key = "trainer.accelerator" if "trainer.accelerator" in given else "device"
        raise InputError(f"{key}={kind}: this machine has no such device; choose {key}=cpu or {key}=auto")
    if not (isinstance(time, dict | None) or re.fullmatch(r"\d+(:\d\d?){3}", str(time))):
        raise InputError(f"trainer.max_time={time}: expected days:hours:minutes:seconds, such as 00:01:30:00")
    if node.get("overfit_batches"):
        raise InputError(
            f"trainer.overfit_batches={node['overfit_batches']}: every epoch has other batches here; give debug=overfit, "
            "or data.overfit=true with data.max_examples=N"
        )
    if limit is not None and not (isinstance(limit, float) and limit == 1):
        raise InputError(
            f"trainer.limit_test_batches={limit}: all test pairs are translated; "
            "data.max_examples=N takes the first N of each split"
        )


def _check_length(config: DictConfig) -> None:
    """Refuse a training without a step, unless there are weights to keep: of another model or an earlier start."""
    last = Path(str(config.paths.run_dir)) / "checkpoints" / "last.ckpt"
    if config.init_from is None and config.ckpt_path is None and not last.exists():
        for key in ("max_epochs", "max_steps"):
            if config.trainer.get(key) == 0:
                raise InputError(f"trainer.{key}=0: no step would be trained; give more, or init_from=RUN")


def _check_starts(config: DictConfig) -> None:
    """Refuse a model or vectors to start from, or a checkpoint to go on from, that are not there; and both together."""
    vectors = [config.model.get(f"{side}_vectors") for side in ("source", "target")]
    for key in ("model.source_vectors", "model.target_vectors", "ckpt_path"):
        path = OmegaConf.select(config, key)
        if isinstance(path, str) and path != "last" and not (is_address(path) or Path(path).is_file()):
            raise InputError(f"{key}={path}: there is no such file")
    if config.model.get("tie_embeddings") == "all" and all(vectors) and vectors[0] != vectors[1]:
        raise InputError(
            "model.source_vectors and model.target_vectors: model.tie_embeddings=all has one embedding for both languages: "
            "give one file"
        )
    if config.init_from is None:
        return
    if any(vectors):
        raise InputError(
            "init_from and vectors: the model to start from has embeddings, which would replace those of the vectors: "
            "leave out one of them"
        )
    try:
        config_of(config.init_from)
    except InputError as error:
        raise InputError(f"init_from={error}") from error
    own, checkpoint = Path(str(config.paths.run_dir)).resolve(), config.ckpt_path
    if checkpoint not in (None, "last") and not Path(checkpoint).resolve().is_relative_to(own):
        raise InputError(
            f"init_from and ckpt_path={checkpoint}: a training starts from a model, or goes on from a checkpoint: give one"
        )


def _check_callbacks(values: Mapping[Any, Any]) -> None:
    """Refuse early stopping without validations, of which Lightning would know after an epoch, and averages that begin late."""
    is_blind = values["trainer"].get("limit_val_batches", 1.0) == 0
    if is_blind and str((values.get("scheduler") or {}).get("_target_")).endswith(".ReduceLROnPlateau"):
        warn(
            "scheduler=plateau has no effect here: that needs validations, and trainer.limit_val_batches is 0"
        )
    for name, node in (values.get("callbacks") or {}).items():
        kind, monitor = str((node or {}).get("_target_")).rpartition(".")[2], str((node or {}).get("monitor"))
        if is_blind and kind == "EarlyStopping" and monitor.startswith("val/"):
            raise InputError(f"callbacks.{name}: there is no {monitor} with trainer.limit_val_batches=0")
        late = next((each for each in LATE if node.get(each)), None) if kind == "EMAWeightAveraging" else None
        if late is not None:
            raise InputError(
                f"callbacks.{name}.{late}={node[late]}: until then Lightning validates, and keeps, the weights that the "
                "training began with: leave it out"
            )


def _check_text(data: Mapping[str, Any]) -> None:
    """Read the text of a corpus that is read in no time; all other mistakes in it are found when it is prepared."""
    from seq2seq.data.files import columns_of, read_pairs, read_split
    from seq2seq.data.split import require_held_out

    target = str(data["_target_"])
    if not {"source_column", "target_column"} & data.keys() and "Text" not in target:
        return
    languages = str(data.get("source_language")), str(data.get("target_language"))
    columns = columns_of(*languages, data.get("source_column"), data.get("target_column"))
    if target == "seq2seq.data.ParallelText":
        require_held_out(data.get("validation") or {}, data.get("split"))
    if target in ("seq2seq.data.ParallelText", "seq2seq.data.LargeText"):
        for split in ("train", "validation", "test"):
            files = data.get(split) or {}
            if _is_soon_read(files.get("source"), files.get("target")):
                read_split(f"data.{split}", files, columns)
    elif target == "seq2seq.data.TabSeparatedText" and _is_soon_read(data["file"]):
        read_pairs(str(data["file"]), columns)


def _is_soon_read(*patterns: Any) -> bool:
    """Return whether files hold little text; missing ones hold none. A pipe can be read only once, an address is far."""
    given = [each for each in patterns if isinstance(each, str)]
    if any(map(is_address, given)):
        return False
    paths = [path for each in given for path in map(Path, matching(each)) if path.exists()]
    return not any(path.is_fifo() for path in paths) and sum(path.stat().st_size for path in paths) <= FEW


def own_metrics(config: DictConfig) -> dict[str, Any]:
    """Return the functions and classes of ``module.metrics`` by name, for what they declare."""
    found = config.module.get("metrics") or {}
    return {name: target_of(f"module.metrics.{name}", node._target_) for name, node in found.items() if node}


def directions(config: DictConfig) -> dict[str, Any]:
    """Return, by key, the direction of every metric that callbacks and schedule compare, names of checkpoints, and when to stop.

    Raises:
        InputError: A direction is wrong, or not known and not given; or a checkpoint callback would keep another model
            than the best, see `_check_times`.
    """
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    own = own_metrics(config)
    chosen: dict[str, Any] = {}
    trainer = config.trainer
    at_epoch_ends = (
        trainer.get("val_check_interval") is None and trainer.get("check_val_every_n_epoch", 1) == 1
    )
    for name, node in config.callbacks.items():
        if node:
            chosen |= _of_callback(f"callbacks.{name}", node, own, at_epoch_ends=at_epoch_ends)
    if config.scheduler:
        target = target_of("scheduler", config.scheduler._target_)
        if inspect.isclass(target) and issubclass(target, ReduceLROnPlateau):
            chosen |= _mode("scheduler", config.scheduler.get("mode"), "val/loss", own)
    return chosen


def _of_callback(
    key: str, node: DictConfig, own: Mapping[str, Any], *, at_epoch_ends: bool
) -> dict[str, Any]:
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

    target = target_of(key, node._target_)
    for each in getattr(target, "__mro__", ()):
        if each.__name__ in FINDERS:
            raise InputError(
                f"{key}: config.yaml and a run that continues would not have what it finds: give {FINDERS[each.__name__]}"
            )
    chosen: dict[str, Any] = {}
    monitor = inspect.signature(target).parameters.get("monitor")
    monitored = node.get("monitor", None if monitor is None else monitor.default)
    if isinstance(monitored, str) and re.match(r"val/(greedy|beam)/|test/", monitored):
        raise InputError(
            f"{key}.monitor={monitored}: validations while training have scores of greedy search, such as "
            f"val/{monitored.rpartition('/')[2]}"
        )
    if isinstance(monitored, str) and ("mode" in node or "mode" in taken_by(key, node._target_)[0]):
        chosen = _mode(key, node.get("mode"), monitored, own)
    elif "mode" in node and node.mode is None:
        chosen[f"{key}.mode"] = "min"  # nothing is compared
    if inspect.isclass(target) and issubclass(target, EarlyStopping) and str(monitored).startswith("val/"):
        when = f"{key}.check_on_train_epoch_end"
        if "check_on_train_epoch_end" in node and node.check_on_train_epoch_end is None:
            chosen[when] = (
                False  # a run that goes on from a checkpoint of a validation has no score at its epoch's end
            )
    if inspect.isclass(target) and issubclass(target, ModelCheckpoint):
        _check_times(key, node, monitored, at_epoch_ends=at_epoch_ends)
        several = node.get("filename") and node.get("save_top_k", 1) not in (0, 1)
        if several and "{step}" not in node.filename:
            chosen[f"{key}.filename"] = f"{node.filename}-{{step}}"
    return chosen


def _check_times(key: str, node: DictConfig, monitored: Any, *, at_epoch_ends: bool) -> None:
    """Refuse a checkpoint whose model is not the one that its score is of, and one that keeps none.

    Args:
        key: Of the callback.
        node: Its arguments.
        monitored: The metric that it compares.
        at_epoch_ends: Whether there is one validation an epoch, at its end.

    Raises:
        InputError: Naming the key to leave out.
    """
    if not isinstance(monitored, str):
        return
    if node.get("save_top_k", 1) == 0:
        raise InputError(
            f"{key}.save_top_k=0 keeps no best model: to export the last one, give {key}.monitor=null"
        )
    names = [
        "every_n_train_steps",
        "train_time_interval",
        *([] if at_epoch_ends else ["save_on_train_epoch_end"]),
    ]
    wrong = next((name for name in names if node.get(name)), None)
    if wrong is not None and not monitored.startswith("train/"):
        raise InputError(
            f"{key}.{wrong}={node[wrong]}: {monitored} is of the validation before, of another model; leave it out, and "
            "give trainer.val_check_interval=BATCHES to choose among more models"
        )


def checkpoint_files(config: DictConfig) -> list[Path]:
    """Return the checkpoints that callbacks write, but for numbers in their names.

    Raises:
        InputError: Two callbacks write the same file, one over the other.
    """
    from lightning.pytorch.callbacks import ModelCheckpoint

    usual = f"{config.paths.run_dir}/checkpoints"
    last = (config.callbacks.get("periodic") or {}).get("dirpath", usual)
    writers = {(last, name): "callbacks.periodic" for name in ("last", "last.next", "last.prev")}
    for name, node in config.callbacks.items():
        target = target_of(f"callbacks.{name}", node._target_) if node else None
        if not (inspect.isclass(target) and issubclass(target, ModelCheckpoint)):
            continue
        folder = node.get("dirpath") or usual
        for key, file in (
            ("filename", node.get("filename")),
            ("save_last", "last" if node.get("save_last") else None),
        ):
            other = writers.setdefault((folder, file), f"callbacks.{name}") if file else f"callbacks.{name}"
            if other != f"callbacks.{name}":
                raise InputError(
                    f"callbacks.{name}.{key}={node[key]}: {other} writes {folder}/{file}.ckpt, too: give another name or "
                    f"another callbacks.{name}.dirpath"
                )
    places = [*writers, *((folder, "best") for folder, _ in writers)]  # a link to the best of several
    return [Path(folder, f"{name}.ckpt").absolute() for folder, name in places]


def _mode(key: str, mode: str | None, monitor: str, own: Mapping[str, Any]) -> dict[str, str]:
    found = checked_direction(f"{key}.mode", mode, monitor, own, what=f"{key}.monitor={monitor}")
    return {f"{key}.mode": found}


def checked_direction(
    key: str, given: str | None, metric: str, own: Mapping[str, Any], *, what: str,
    words: tuple[str, str] = ("min", "max"),
) -> str:  # fmt: skip
    """Return the direction of a metric in the words of a key.

    `given` is given at `key`; `what` is named by messages; `words` say that lower values are better, and that higher
    ones are.

    Raises:
        InputError: What is given is wrong, or nothing is given and the direction is not known.
    """
    from seq2seq.evaluation.metrics import METRICS, direction_of

    known = direction_of(metric, own)
    right = None if known is None else words[known == "max"]
    if given not in (None, *words):
        raise InputError(f"{key}={given}: write {' or '.join(words)}")
    if right is None and given is None:
        split, _, score = (metric if "/" in metric else metric.replace("_", "/", 1)).rpartition("/")
        split = split or "val"
        hint = did_you_mean(score, [*METRICS, *own], f"{split}/")
        hint = f"{hint}Otherwise " if hint and f" {metric}?" not in hint else ""
        raise InputError(
            f"{what}: whether higher or lower values are better is not known; {hint}give {key}={words[0]} or "
            f"{key}={words[1]}, or set higher_is_better on your metric"
        )
    if right is not None and given not in (None, right):
        better = "higher" if known == "max" else "lower"
        raise InputError(f"{key}={given}: {better} values of {metric} are better; leave out {key}")
    return right or str(given)


class SweepDirection(Callback):
    """Hydra callback that gives a sweeper the direction of ``metric``, or refuses the wrong one."""

    def on_multirun_start(self, config: DictConfig, **options: Any) -> None:
        """Set ``hydra.sweeper.direction`` of a sweeper that has it."""
        sweeper = config.hydra.sweeper
        if "direction" not in sweeper or isinstance(sweeper.direction, ListConfig):
            return
        given = None if sweeper.direction is None else str(sweeper.direction)
        try:
            right = checked_direction(
                "hydra.sweeper.direction", given, config.metric, own_metrics(config),
                what=f"metric={config.metric}", words=("minimize", "maximize"),
            )  # fmt: skip
        except InputError as error:  # Hydra makes other exceptions of callbacks a warning
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        with read_write(config.hydra):
            sweeper.direction = right

    def on_job_composed(self, config: DictConfig) -> None:
        """Refuse a job of a grid that lacks what a key is of, before the first job starts.

        Raises:
            InputError: With the job's overrides.
        """
        overrides: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        try:
            _check_choices(settings_of(config, overrides, "job"))
        except InputError as error:
            raise InputError(f"{' '.join(overrides)}: {error}") from error
