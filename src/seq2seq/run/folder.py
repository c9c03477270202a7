"""The folder of a run: who works in it, what it holds, and how its files are written."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock
from omegaconf import DictConfig, OmegaConf

from seq2seq.errors import InputError
from seq2seq.run.config import CONF

OUTPUTS = (
    "config.yaml", "overrides.yaml", "tokenizers", "checkpoints", "events.out.tfevents.*", "hparams.yaml", "metrics.csv", "model",
    "predictions", "metrics.json", "reports.jsonl", "csv",
)  # fmt: skip
"""What a run leaves in its folder, but for its log."""

FOLDERS = {"tokenizers", "checkpoints", "model", "predictions", "csv"}
"""Those outputs that are folders."""

ASIDE = ".replaced"
"""The folder with the outputs of a run while another one begins in its place."""

HERE = "${paths.run_dir}"
"""How ``config.yaml`` writes the folder of the run, which may be moved."""


def relative_to_cwd(path: Path) -> Path:
    """Return a path relative to the working folder where it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def lock(run_dir: Path) -> AbstractContextManager[Any]:
    """Lock the folder of a run against other processes; as a context manager, until its end.

    Raises:
        InputError: Another process works in it, or it cannot be made.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        return filelock.FileLock(run_dir / ".lock", timeout=0).acquire()
    except filelock.Timeout as error:
        raise InputError(f"another process works in {run_dir}: wait for its end, or give name=…") from error
    except OSError as error:
        raise InputError(f"{run_dir} cannot be written to ({error.strerror})") from error


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


def outputs_in(run_dir: Path) -> list[Path]:
    """Return what runs have left in a folder."""
    return [path for pattern in OUTPUTS for path in run_dir.glob(pattern)]


def require_kinds(run_dir: Path) -> None:
    """Raise InputError if a file is where a run has a folder, or the reverse."""
    for path in outputs_in(run_dir):
        if path.is_dir() != (path.name in FOLDERS):
            found, needed = ("a folder", "a file") if path.is_dir() else ("a file", "a folder")
            raise InputError(
                f"{path} is {found}, where a run has {needed}: remove it, or give name=… or overwrite=true"
            )


def clear(run_dir: Path) -> None:
    """Remove the files of an earlier run from its folder; other files stay."""
    for path in outputs_in(run_dir):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def set_aside(run_dir: Path) -> Iterator[None]:
    """Set the outputs of an earlier run aside: they come back if what follows is refused or ends before its first checkpoint.

    If not, they are removed. They have numbers for names meanwhile, or TensorBoard and ``compare`` would find a run there.
    """
    aside = run_dir / ASIDE
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    moved = [(path, aside / str(number)) for number, path in enumerate(outputs_in(run_dir))]
    for path, place in moved:
        path.rename(place)
    try:
        yield
    except BaseException as error:  # also of a full disk, of a callback, and Ctrl-C
        has_trained = any(run_dir.glob("checkpoints/*.ckpt"))
        is_refused = isinstance(error, InputError)
        if (is_refused and moved) or (not has_trained and (is_refused or moved)):
            clear(run_dir)
            for path, place in moved:
                place.rename(path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def kept_files(run_dir: Path) -> Iterator[None]:
    """Keep what a run that goes on says of itself: if it is refused, the files are again what they were."""
    shutil.rmtree(run_dir / ASIDE, ignore_errors=True)  # of an overwrite that was killed
    files = [run_dir / name for name in ("config.yaml", "overrides.yaml", "metrics.json")]
    before = {path: path.read_bytes() for path in files if path.is_file()}
    try:
        yield
    except InputError:
        for path, content in before.items():
            path.write_bytes(content)
        raise


def save_config(config: DictConfig, run_dir: Path) -> None:
    """Write the configuration that runs, so that ``--config-path RUN --config-name config name=…`` repeats it."""

    def movable(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: movable(value) for key, value in node.items()}
        if isinstance(node, list):
            return [movable(value) for value in node]
        return (
            re.sub(rf"{re.escape(str(run_dir))}(?=/|$)", lambda _: HERE, node)
            if isinstance(node, str)
            else node
        )

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


def one_a_line(texts: Sequence[str]) -> str:
    """Return texts as lines, line breaks within them, as a cell of a table may have, as spaces."""
    return "".join(re.sub(r"[\r\n]+", " ", text) + "\n" for text in texts)


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
