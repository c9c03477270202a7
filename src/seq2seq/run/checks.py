"""What is wrong with a run and is seen without PyTorch, which takes seconds to load: keys, numbers, devices, files."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from hydra_checked import nearest, objects, problems
from seq2seq.common.arguments import flat
from seq2seq.common.files import is_address, matching
from seq2seq.common.progress import warn
from seq2seq.common.shipped import config_of
from seq2seq.errors import InputError
from seq2seq.run.bounds import stored
from seq2seq.run.config import CONF, PASSED, PLACES, Settings, choices_with, refuse
from seq2seq.run.devices import is_missing
from seq2seq.run.root import Root

NEEDED = "data", "model", "model.encoder", "model.decoder", "module", "optimizer", "trainer"
"""Objects that a run cannot do without."""

MOST = 2**32 - 1
"""Maximum of whole numbers, of the classes of this program, of Lightning and of PyTorch."""

FACTORIES = r"(model(\..+)?|optimizer|scheduler|data\.(target_)?tokenizer)\._partial_"
"""Whether a node is called with more arguments."""

EFFECTS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("data.alignments", "module.guided_alignment_weight=W", lambda now: now.get("module.guided_alignment_weight") != 0),
    ("data.validation_alignments", "data.overfit=false", lambda now: now.get("data.overfit") is not True),
    ("data.truncate", "data.max_length=N", lambda now: now.get("data.max_length") is not None),
    ("data.split_seed", "data.in_order=false", lambda now: now.get("data.in_order") is not True or now.get("data.fraction") is not None),
    ("data.split_seed", "data.validation.fraction=SHARE", lambda now: now.get("data.validation.fraction", 1) is not None),
    ("data.split_seed", "data.fraction=SHARE", lambda now: now.get("data.fraction", 1) is not None),
    ("module.label_smoothing", "module.objective.cross_entropy_weight=W", lambda now: now.get("module.objective.cross_entropy_weight") != 0),
    ("trainer.min_epochs", "trainer.max_epochs above it", lambda now: now.get("trainer.max_epochs") in (None, -1) or now["trainer.min_epochs"] < now["trainer.max_epochs"]),
    ("callbacks.averaging.start_epoch", "trainer.max_epochs of as many", lambda now: now.get("trainer.max_epochs") in (None, -1) or now["callbacks.averaging.start_epoch"] <= now["trainer.max_epochs"]),
)  # fmt: skip
"""Key, what it needs to have an effect, and whether it has one with these values."""

LATE = "update_starting_at_step", "update_starting_at_epoch"
"""Arguments of Lightning's exponential moving average."""

FEW = 16_000_000
"""Bytes of text that are read before PyTorch is loaded; more is read once."""


def check_early(settings: Settings) -> None:
    """Refuse what is wrong for sure; the rest is found when the objects are built.

    Raises:
        InputError: A part is missing, a number is outside its range, there is no such metric, device or file, or text
            cannot be read.
    """
    config = settings.config
    for key in (*NEEDED, "decoding"):
        _require(config, key)
    values = OmegaConf.to_container(config)
    refuse(problems(values, Root, bounds=stored(), imports=False, passed=PASSED))
    assert isinstance(values, dict)
    own_metrics = values["module"].get("metrics") or {}
    if not (isinstance(own_metrics, dict) and all(_is_node(each) for each in own_metrics.values())):
        raise InputError(f"module.metrics={own_metrics}: expected names of scores, each with a _target_")
    _check_choices(settings)
    _check_factories(values)
    _check_numbers(values)
    _check_effects(settings.given, flat(values))
    _check_length(config)
    _check_metric(str(config.metric), own_metrics)
    if "/beam/" in str(config.metric) and config.decoding.get("beam_size", 1) == 1:
        raise InputError(
            f"metric={config.metric}: there is no beam search with decoding.beam_size=1 or decoding=greedy"
        )
    kind = values["trainer"].get("accelerator")
    if isinstance(kind, str) and is_missing(kind):
        key = "trainer.accelerator" if "trainer.accelerator" in settings.given else "device"
        raise InputError(f"{key}={kind}: this machine has no such device; choose {key}=cpu or {key}=auto")
    if config.trainer.get("val_check_interval") in (0, False):
        raise InputError("trainer.val_check_interval=0: expected a number of batches, or a share of an epoch")
    _check_classes(settings)
    _check_validations(values)
    _check_averages(values)
    time = values["trainer"].get("max_time")
    if not (isinstance(time, dict | None) or re.fullmatch(r"\d+(:\d\d?){3}", str(time))):
        raise InputError(f"trainer.max_time={time}: expected days:hours:minutes:seconds, such as 00:01:30:00")
    _check_starts(config)
    _check_text(values["data"])


def _check_classes(settings: Settings) -> None:
    """Refuse keys of a callback or logger that has no class; where a recipe gives them, they are left out."""
    for group in ("callbacks", "logger"):
        for name, node in OmegaConf.to_container(settings.config[group]).items():
            place = f"{group}.{name}"
            keys = [key for key in settings.given if f"{key}.".startswith(f"{place}.")]
            if not _is_node(node) and (keys or not isinstance(node, dict)):
                needed = choices_with(keys[0]) if keys else []
                hint = f"that needs {' or '.join(needed)}" if needed else f"give +{place}._target_=…"
                raise InputError(f"{', '.join(keys) or place}: there is no class for {place}; {hint}")


def _is_node(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and "_target_" in value)


def _check_starts(config: DictConfig) -> None:
    """Refuse a model or vectors to start from, or a checkpoint to go on from, that are not there; and both together."""
    for key in ("model.source_vectors", "model.target_vectors"):
        path = OmegaConf.select(config, key)
        if isinstance(path, str) and not is_address(path) and not Path(path).is_file():
            raise InputError(f"{key}={path}: there is no such file")
    vectors = [config.model.get(f"{side}_vectors") for side in ("source", "target")]
    if config.model.get("tie_embeddings") == "all" and all(vectors) and vectors[0] != vectors[1]:
        raise InputError(
            "model.source_vectors and model.target_vectors: model.tie_embeddings=all has one embedding for both languages: "
            "give one file"
        )
    if config.init_from is not None:
        if any(vectors):
            raise InputError(
                "init_from and vectors: the model to start from has embeddings, which would replace those of the vectors: "
                "leave out one of them"
            )
        try:
            config_of(config.init_from)
        except InputError as error:
            raise InputError(f"init_from={error}") from error
    if config.init_from is not None and _is_elsewhere(config.ckpt_path, config):
        raise InputError(
            f"init_from and ckpt_path={config.ckpt_path}: a training starts from a model, or goes on from a checkpoint: give one"
        )
    if config.ckpt_path not in (None, "last") and not Path(config.ckpt_path).is_file():
        raise InputError(f"ckpt_path={config.ckpt_path}: there is no such file")


def _is_elsewhere(checkpoint: str | None, config: DictConfig) -> bool:
    """Return whether a checkpoint is given that is not of the run itself."""
    own = Path(str(config.paths.run_dir)).resolve()
    return checkpoint not in (None, "last") and not Path(str(checkpoint)).resolve().is_relative_to(own)


def _check_validations(values: Mapping[Any, Any]) -> None:
    """Refuse early stopping without validations, of which Lightning would know after an epoch; warn of a plateau."""
    if values["trainer"].get("limit_val_batches", 1.0) != 0:
        return
    if str((values.get("scheduler") or {}).get("_target_")).endswith(".ReduceLROnPlateau"):
        warn(
            "scheduler=plateau has no effect here: that needs validations, and trainer.limit_val_batches is 0"
        )
    for name, node in (values.get("callbacks") or {}).items():
        monitor = str((node or {}).get("monitor"))
        if monitor.startswith("val/") and str(node.get("_target_")).endswith(".EarlyStopping"):
            raise InputError(f"callbacks.{name}: there is no {monitor} with trainer.limit_val_batches=0")


def _check_averages(values: Mapping[Any, Any]) -> None:
    """Refuse averages that begin late, see `LATE`."""
    for name, node in (values.get("callbacks") or {}).items():
        late = [each for each in LATE if (node or {}).get(each)]
        if late and str(node.get("_target_")).endswith(".EMAWeightAveraging"):
            raise InputError(
                f"callbacks.{name}.{late[0]}={node[late[0]]}: until then Lightning validates, and keeps, the weights that the "
                "training began with: leave it out"
            )


def _require(config: DictConfig, key: str) -> None:
    value, group = OmegaConf.select(config, key), key.rpartition(".")[2]
    if value is None or (key in NEEDED and not (isinstance(value, DictConfig) and "_target_" in value)):
        shown = "" if value is None else f"={value!s:.40}"
        choices = ", ".join(sorted(path.stem for path in CONF.glob(f"{group}/*.yaml")))
        hint = f"choose {group}=… of {choices}" if choices else f"give {key}=…"
        raise InputError(f"{key}{shown}: a run needs it; {hint}")


def _check_choices(settings: Settings) -> None:
    """Refuse a choice of the command line for a part that another choice leaves out."""
    for group, place in PLACES.items():
        choice = settings.given.get(group)
        if choice not in (None, "none") and OmegaConf.select(settings.config, place) is None:
            within = next(
                (each for each in PLACES if place.startswith(f"{PLACES[each]}.") and each in settings.given),
                None,
            )
            why = f" with {within}={settings.given[within]}" if within else ""
            raise InputError(f"{group}={choice}: there is no {place}{why}: leave out {group}={choice}")


def _check_factories(values: Mapping[Any, Any]) -> None:
    """Refuse parts that could not be built with what follows from the text."""
    for side in ("tokenizer", "target_tokenizer"):
        node = values["data"].get(side)
        if isinstance(node, dict) and "_target_" in node and "_partial_" not in node:
            raise InputError(
                f"data.{side} has no _partial_: a run builds it with a language: give +data.{side}._partial_=true"
            )
    for key, value in flat(values).items():
        if value is False and re.fullmatch(FACTORIES, key):
            raise InputError(
                f"{key}=false: a run builds it with sizes that follow from the text: leave this key out"
            )


def _check_numbers(values: Mapping[Any, Any]) -> None:
    """Refuse whole numbers that PyTorch cannot hold."""
    for place, node, target in objects(values):
        if str(target).startswith(("seq2seq.", "lightning.", "torch.")):
            for key, value in flat(node, place).items():
                if isinstance(value, int) and abs(value) > MOST:
                    raise InputError(f"{key}={value}: expected at most {MOST:,}")


def _check_effects(given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Warn of a key of the command line that another value keeps from having an effect.

    It is not refused: in a sweep over the other key some jobs have an effect.
    """
    for key, needed, has_effect in EFFECTS:
        if (
            key in given
            and values.get(key) is not None
            and values[key] is not False
            and not has_effect(values)
        ):
            warn(f"{key}={values[key]} has no effect here: that needs {needed}")


def _check_metric(name: str, own: Mapping[str, Any]) -> None:
    """Refuse the name of a metric that no run has; those of `own` are the user's."""
    from seq2seq.evaluation.metrics import METRICS
    from seq2seq.evaluation.own_metrics import named_by

    split, _, rest = name.partition("/")
    search, _, score = rest.rpartition("/")
    known = [*(each for each, metric in METRICS.items() if metric.score is not None), *own]
    is_known = score in known or named_by(score, own)
    if split not in ("val", "test") or search not in ("", "greedy", "beam") or not is_known:
        meant = nearest(score or name, known)
        hint = f"did you mean {split if score else 'val'}/{meant}? " if meant else ""
        raise InputError(
            f"metric={name}: there is no such score; {hint}write val/NAME, or val/beam/NAME for beam search, with one "
            f"of {', '.join(known)}"
        )


def _check_length(config: DictConfig) -> None:
    """Refuse a training without a step, unless there are weights to keep: of another model or an earlier start."""
    if config.trainer.get("overfit_batches"):
        raise InputError(
            f"trainer.overfit_batches={config.trainer.overfit_batches}: every epoch has other batches here; give debug=overfit, "
            "or data.overfit=true with data.max_examples=N"
        )
    limit = config.trainer.get("limit_test_batches")
    if limit is not None and not (isinstance(limit, float) and limit == 1):
        raise InputError(
            f"trainer.limit_test_batches={limit}: all test pairs are translated; "
            "data.max_examples=N takes the first N of each split"
        )
    last = Path(str(config.paths.run_dir)) / "checkpoints" / "last.ckpt"
    if config.init_from is not None or config.ckpt_path is not None or last.exists():
        return
    for key in ("max_epochs", "max_steps"):
        if config.trainer.get(key) == 0:
            raise InputError(f"trainer.{key}=0: no step would be trained; give more, or init_from=RUN")


def _check_text(data: Mapping[str, Any]) -> None:
    """Read the text of a corpus that is read in no time; all other mistakes in it are found when it is prepared."""
    from seq2seq.data.files import columns_of, read_pairs, read_split
    from seq2seq.data.text import require_held_out

    target = str(data["_target_"])
    languages = str(data.get("source_language")), str(data.get("target_language"))
    columns = columns_of(*languages, data.get("source_column"), data.get("target_column"))
    if target == "seq2seq.data.ParallelText":
        require_held_out(data.get("validation") or {})
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
