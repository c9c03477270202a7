"""The folder of a run: who works in it, what it holds, and how its files are written."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
from omegaconf import DictConfig, OmegaConf

from seq2seq.common.arguments import arguments_of, flat
from seq2seq.common.progress import warn
from seq2seq.errors import InputError
from seq2seq.run.config import CONF, target_of
from seq2seq.run.sizes import follows, length

MAY_DIFFER = (
    "paths.", "hydra.", "name", "experiment_name", "threads", "ckpt_path", "overwrite", "metric", "logger.",
    "decoding.", "trainer.max_epochs", "trainer.max_steps", "trainer.max_time", "trainer.enable_", "trainer.log_every",
    "trainer.profiler", "trainer.default_root_dir", "callbacks.attention.", "callbacks.samples.",
    "callbacks.epoch_lines.", "callbacks.report.", "callbacks.progress.", "callbacks.checkpoint.dirpath", "scheduler.total_steps",
)  # fmt: skip
"""Keys that may change between a run and its continuation: longer training, other pictures and places."""

OUTPUTS = (
    "config.yaml", "tokenizers", "checkpoints", "events.out.tfevents.*", "hparams.yaml", "metrics.csv", "model",
    "predictions", "metrics.json", "reports.jsonl",
)  # fmt: skip
"""What a run leaves in its folder, but for its log."""

HERE = "${paths.run_dir}"
"""How ``config.yaml`` writes the folder of the run, which may be moved."""


def relative_to_cwd(path: Path) -> Path:
    """Return a path relative to the working folder where it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def lock(run_dir: Path) -> filelock.BaseFileLock:
    """Lock the folder of a run against other processes.

    Raises:
        InputError: Another process works in it, or it cannot be made.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        file_lock = filelock.FileLock(run_dir / ".lock", timeout=0)
        file_lock.acquire()
    except filelock.Timeout as error:
        raise InputError(f"another process works in {run_dir}: wait for its end, or give name=…") from error
    except OSError as error:
        raise InputError(f"{run_dir} cannot be written to ({error.strerror})") from error
    return file_lock


@contextmanager
def no_empty_folder(run_dir: Path) -> Iterator[None]:
    """Remove at the end the folder of a run that wrote nothing into it, such as one that was refused."""
    try:
        yield
    finally:
        if is_empty(run_dir):
            with suppress(InputError), lock(run_dir):  # another process may have begun
                if is_empty(run_dir):
                    shutil.rmtree(run_dir, ignore_errors=True)
            for parent in run_dir.parents[:2]:  # those of the experiment and of all runs
                with suppress(OSError):
                    parent.rmdir()


def is_empty(run_dir: Path) -> bool:
    """Return whether a folder holds nothing but what is written before a run begins."""
    return run_dir.is_dir() and {path.name for path in run_dir.iterdir()} <= {".hydra", ".lock", "train.log"}


def clear(run_dir: Path) -> None:
    """Remove the files of an earlier run from its folder; other files stay."""
    for pattern in OUTPUTS:
        for path in run_dir.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@dataclass(frozen=True)
class Earlier:
    """An earlier start of the run in a folder.

    `values` is the configuration with which it ran, by dotted key.
    """

    run_dir: Path
    values: Mapping[str, Any]

    def scores(self, config: DictConfig) -> dict[str, Any] | None:
        """Return the scores if it was finished, and a configuration is that of the same run and trains no longer."""
        path, keys = self.run_dir / "metrics.json", ("max_epochs", "max_steps")
        starts = (flat(OmegaConf.to_container(config)), self.values)
        new, old = (length({key: start.get(f"trainer.{key}") for key in keys}) for start in starts)
        is_longer = any(now > before for now, before in zip(new, old, strict=True))
        if is_longer or not path.is_file() or self.differing(config):
            return None
        metrics = read_json(path)
        if not metrics.get("finished") or not isinstance(metrics.get("val"), dict):
            raise InputError(f"{path} has no scores of a run: give name=… or overwrite=true")
        times = [start.get("trainer.max_time") for start in starts]
        return None if metrics.get("out_of_time") and times[0] != times[1] else metrics

    def differing(self, config: DictConfig) -> list[str]:
        """Return the keys by which another configuration would be another run."""
        old, new = self.values, flat(OmegaConf.to_container(config))
        return [
            key
            for key in dict.fromkeys([*new, *old])
            if old.get(key) != new.get(key)
            and not f"{key}.".startswith(tuple(k.rstrip(".") for k in MAY_DIFFER))
            and not follows(key, old.get(key), new.get(key))
            and not _is_gone(key, new)
            and not (key == "init_from" and new.get(key) is None)  # it has begun
        ]

    def scored_with(self, config: DictConfig) -> list[str]:
        """Return the keys of the search with which the scores were found, with their values, where they are others now."""
        new = flat(OmegaConf.to_container(config))
        return [
            f"{key}={value}"
            for key, value in self.values.items()
            if key.startswith("decoding.") and new.get(key) not in (None, value) and value is not None
        ]

    def require_same(self, config: DictConfig) -> None:
        """Refuse another run in the folder; warn of arguments of this one that no longer exist.

        Raises:
            InputError: Naming the keys that differ.
        """
        keys, new = self.differing(config), flat(OmegaConf.to_container(config))
        if keys:
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
    arguments, takes_any = arguments_of(target_of(node, new[f"{node}._target_"]))
    return not takes_any and name not in arguments


def earlier_start(run_dir: Path) -> Earlier | None:
    """Return the earlier start of a run in a folder; None if there is none.

    Raises:
        InputError: Its configuration cannot be read.
    """
    path = run_dir / "config.yaml"
    if not path.is_file():
        return None
    try:
        config = OmegaConf.load(path)
        values = flat(OmegaConf.to_container(config))
    except Exception as error:
        raise InputError(f"{path} cannot be read ({error!s:.100}): give name=… or overwrite=true") from error
    values = {k: v.replace(HERE, str(run_dir)) if isinstance(v, str) else v for k, v in values.items()}
    return Earlier(run_dir, values)


def save_config(config: DictConfig, run_dir: Path) -> None:
    """Write the configuration that runs, so that ``--config-path RUN --config-name config name=…`` repeats it."""

    def movable(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: movable(value) for key, value in node.items()}
        if isinstance(node, list):
            return [movable(value) for value in node]
        return node.replace(str(run_dir), HERE) if isinstance(node, str) else node

    values = movable(OmegaConf.to_container(config))
    values["paths"]["run_dir"] = "${hydra:run.dir}"
    hydra = OmegaConf.load(CONF / "config.yaml").hydra
    job_logging = OmegaConf.load(CONF / "hydra/job_logging/seq2seq.yaml")
    values["hydra"] = {"run": hydra.run, "sweep": hydra.sweep, "job_logging": job_logging}
    write_text(run_dir / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(values)))


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of a run folder.

    Raises:
        InputError: It is missing or damaged.
    """
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error!s:.100}): give name=… or overwrite=true") from error


def write_json(path: Path, value: Any) -> None:
    """Write a value, see `write_text`."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    replace(partial, path)


def write_tokenizers(folder: Path, save: Callable[[Path], None]) -> None:
    """Have the tokenizers saved beside a folder, then replace its files.

    `save` writes them into a folder.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    save(partial)
    for path in sorted(each for each in partial.rglob("*") if each.is_file()):
        place = folder / path.relative_to(partial)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace(path, place)
    shutil.rmtree(partial)


def replace(partial: Path, path: Path) -> None:
    """Move a file that is whole to its place; a kill leaves the one or the other."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)
