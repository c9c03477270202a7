"""The earlier start of a run in its folder: whether a command is the same run, longer or finished, or another one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from hydra_checked import flat
from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn
from seq2seq.data.addresses import overrides_of
from seq2seq.run.folder import HERE, read_json
from seq2seq.run.sizes import AUTOMATIC, follows, length
from seq2seq.settings.config import taken_by

MAY_DIFFER = (
    "paths", "hydra", "name", "experiment_name", "threads", "ckpt_path", "overwrite", "metric", "logger", "decoding",
    "trainer.max_epochs", "trainer.max_steps", "trainer.max_time", "trainer.enable_progress_bar", "trainer.enable_model_summary",
    "trainer.enable_checkpointing", "trainer.log_every_n_steps", "trainer.profiler", "trainer.default_root_dir",
    "data.root", "data.num_workers", "callbacks.attention", "callbacks.samples", "callbacks.epoch_lines", "callbacks.report",
    "callbacks.progress", "callbacks.periodic", "callbacks.checkpoint.dirpath", "scheduler.total_steps",
)  # fmt: skip
"""Keys and nodes that may change between a run and its continuation: longer training, other pictures and places."""


def _has_model(folder: Path) -> bool:
    """Return whether a model folder has all its files; what is in them is checked when it is read."""
    if not (folder / "config.json").is_file():
        return False
    try:
        config = read_json(folder / "config.json")
        names = config.get("sha256") or {}
        return all((folder / name).is_file() for name in names)
    except (InputError, AttributeError, TypeError):  # it is no description of a model
        return False


@dataclass(frozen=True)
class Earlier:
    """An earlier start of the run in a folder.

    `values` is the configuration with which it ran, by dotted key.
    """

    run_dir: Path
    values: Mapping[str, Any]

    def scores(self, new: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the scores if it was finished, and a configuration, by dotted key, is that of the same run and trains no longer."""
        path, keys = self.run_dir / "metrics.json", ("max_epochs", "max_steps")
        now, before = (
            length({key: start.get(f"trainer.{key}") for key in keys}) for start in (new, self.values)
        )
        is_longer = now[0] > before[0] or now[1] > before[1]
        is_whole = path.is_file() and _has_model(self.run_dir / "model")
        if is_longer or not is_whole or self.differing(new):
            return None
        metrics = read_json(path)
        if not metrics.get("finished") or not isinstance(metrics.get("val"), dict):
            raise InputError(f"{path} has no scores of a run: give name=… or overwrite=true")
        has_time = new.get("trainer.max_time") != self.values.get("trainer.max_time")
        return None if metrics.get("out_of_time") and has_time else metrics

    def differing(self, new: Mapping[str, Any]) -> list[str]:
        """Return the keys by which another configuration would be another run."""
        old = self.values
        typed = dict(
            each.lstrip("+").partition("=")[::2] for each in overrides_of(self.run_dir)
        )  # the last of a key
        given = [key for key in AUTOMATIC if typed.get(key, "null") not in ("", "~", "null", "None")]
        return [
            key
            for key in dict.fromkeys([*new, *old])
            if old.get(key) != new.get(key)
            and not f"{key}.".startswith(tuple(f"{each}." for each in MAY_DIFFER))
            and not (key not in given and follows(key, old.get(key), new.get(key)))
            and not _is_gone(key, new)
            and not (key == "init_from" and new.get(key) is None)  # it has begun
        ]

    def scored_with(self, new: Mapping[str, Any]) -> list[str]:
        """Return the keys with which the scores were found, length and search, with their values, where they are others now."""
        keys = "decoding.", "trainer.max_epochs", "trainer.max_steps"
        return [
            f"{key}={'null' if value is None else value}"
            for key, value in self.values.items()
            if key.startswith(keys) and new.get(key) not in (None, value)
        ]

    def require_same(self, new: Mapping[str, Any]) -> None:
        """Refuse another run in the folder; warn of arguments of this one that no longer exist.

        Raises:
            InputError: Naming the keys that differ.
        """
        if keys := self.differing(new):
            shown = ", ".join(f"{key}={self.values.get(key)} (now {new.get(key)})" for key in keys[:3])
            more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
            raise InputError(
                f"{self.run_dir} holds another run: {shown}{more}; choose another name with name=…, or overwrite=true"
            )
        for key in self.values:
            if _is_gone(key, new):
                warn(f"config.yaml holds {key}, which no longer exists; left out")


def _is_gone(key: str, new: Mapping[str, Any]) -> bool:
    """Return whether a key that a configuration lacks is an argument that its class no longer has."""
    node, _, name = key.rpartition(".")
    if key in new or f"{node}._target_" not in new:
        return False
    arguments, takes_any = taken_by(node, new[f"{node}._target_"])
    return not takes_any and name not in arguments


def earlier_start(run_dir: Path) -> Earlier | None:
    """Return the earlier start of a run in a folder; None if there is none.

    Raises:
        InputError: Its configuration is missing or cannot be read.
    """
    path = run_dir / "config.yaml"
    if not path.is_file():
        if any((run_dir / "checkpoints").glob("last*.ckpt")):
            raise InputError(
                f"{run_dir} has checkpoints, and no config.yaml that says of what: give name=… or overwrite=true"
            )
        return None
    try:
        config = OmegaConf.load(path)
        values = flat(OmegaConf.to_container(config))
    except Exception as error:
        raise InputError(f"{path} cannot be read ({error!s:.100}): give name=… or overwrite=true") from error
    values = {k: v.replace(HERE, str(run_dir)) if isinstance(v, str) else v for k, v in values.items()}
    return Earlier(run_dir, values)
