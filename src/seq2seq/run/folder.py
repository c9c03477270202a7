"""The folder of a run: who works in it, what it holds, and how its files are written."""

import json
import logging
import os
import re
import shutil
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import filelock
from omegaconf import DictConfig, OmegaConf

from seq2seq.common.errors import InputError
from seq2seq.common.written import LIST, RUN, Written, claim
from seq2seq.settings.application import CONF

PLACES = (
    "config.yaml", "overrides.yaml", "metrics.json", "reports.jsonl", "model/config.json", "model/model.safetensors",
    *(f"{folder}/{side}.{kind}" for folder in ("tokenizers", "model") for side in ("source", "target")
      for kind in ("json", "model")),
    *(f"predictions/{split}.{name}.txt" for split in ("val", "test")
      for name in ("source", "reference", "languages", "greedy", "beam")),
    *(f"checkpoints/{name}.ckpt" for name in ("last", "last.prev", "last.next", "best")),
)  # fmt: skip
"""Where runs write, as far as that is known before they begin."""

OF_HYDRA = ".hydra/config.yaml", ".hydra/hydra.yaml", ".hydra/overrides.yaml", "train.log"
"""What Hydra writes before that."""

ASIDE, SCRATCH, ALL = ".replaced-", ".partial-", "all"
"""How folders of this program begin, with names that nobody else has: of an earlier run's results, while another one begins in
its place, with an empty file once all are there; and of files in the making."""

HERE = "${paths.run_dir}"
"""How ``config.yaml`` writes the folder of the run, which may be moved."""


def relative_to_cwd(path: Path) -> Path:
    """Return a path relative to the working folder where it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def results(files: Written) -> list[Path]:
    """Return what a run has written in its folder, but for its log and what is there before it begins."""
    others = re.compile(r"/|\.hydra/|\.lock$|[^/]*\.log$")
    return [path for path in files.files() if not others.match(files.name_of(path))]


class RunLog(logging.FileHandler):
    """``train.log``. Hydra opens it before it writes, so a folder where Hydra would replace the user's files is refused here."""

    def __init__(self, filename: str | Path, **options: Any) -> None:
        path = Path(filename).absolute()
        Written(path.parent).claim(path, *OF_HYDRA)
        super().__init__(path, **options)


def lock(run_dir: Path) -> AbstractContextManager[Any]:
    """Lock the folder of a run against other processes; as a context manager, until its end.

    Raises:
        InputError: Another process works in it, or it cannot be made.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        if not (run_dir / ".lock").exists():
            Written(run_dir).claim(".lock")
        return filelock.FileLock(run_dir / ".lock", timeout=0).acquire()
    except filelock.Timeout as error:
        raise InputError(f"another process works in {run_dir}: wait for its end, or give name=…") from error
    except OSError as error:
        raise InputError(f"{run_dir} cannot be written to ({error.strerror})") from error


@contextmanager
def at_work(run_dir: Path) -> Iterator[Written]:
    """Lock the folder of a run, and note there what is written in the context.

    Raises:
        InputError: Another process works in it, or a file that no run has written is in the way.
    """
    with lock(run_dir):
        files = Written(run_dir)
        for aside in _made(files, ASIDE):  # of a start that was killed
            if not ((aside / ALL).exists() and has_trained(files)):
                _come_back(files, aside)
            _discard(aside)
        for scratch in _made(files, SCRATCH):
            shutil.rmtree(scratch)
        files.require_free(*PLACES)
        before = RUN.set(files)
        try:
            yield files
        finally:
            RUN.reset(before)


@contextmanager
def no_empty_folder(run_dir: Path) -> Iterator[None]:
    """Remove at the end what a run that did not begin, such as one that was refused, has left in its folder."""
    try:
        yield
    finally:
        if run_dir.is_dir() and not results(Written(run_dir)):
            with suppress(InputError), lock(run_dir):  # another process may have begun
                files = Written(run_dir)
                for path in [] if results(files) else [*files.files(), run_dir / LIST]:
                    path.unlink(missing_ok=True)
            # and the folders of the experiment and of all runs, if nothing else is there
            for folder in (run_dir / ".hydra", run_dir, *run_dir.parents[:2]):
                with suppress(OSError):
                    folder.rmdir()


@contextmanager
def set_aside(files: Written) -> Iterator[None]:
    """Set the results of an earlier run aside: they come back if what follows is refused or ends before its first checkpoint.

    If not, they are removed. Their names are encoded meanwhile, or TensorBoard and ``compare`` would find a run there.

    Raises:
        InputError: It has a checkpoint in another folder.
    """
    moved, aside = results(files), files.folder / f"{ASIDE}{token_hex(8)}"
    if elsewhere := [path for path in files.files() if path.suffix == ".ckpt" and path not in moved]:
        raise InputError(f"overwrite=true: {elsewhere[0]} is in another folder: remove it, or give name=…")
    files.claim(aside, aside.with_name(aside.name.replace(ASIDE, SCRATCH)))
    aside.mkdir()
    for path in moved:
        path.rename(aside / urlsafe_b64encode(os.fsencode(files.name_of(path))).decode())
        with suppress(OSError):
            path.parent.rmdir()  # such as csv/version_0
    (aside / ALL).touch()
    try:
        yield
    except BaseException as error:  # also of a full disk, of a callback, and Ctrl-C
        is_refused = isinstance(error, InputError)
        if (is_refused and moved) or (not has_trained(files) and (is_refused or moved)):
            _come_back(files, aside)
        raise
    finally:
        _discard(aside)


def _made(files: Written, kind: str) -> list[Path]:
    """Return the folders of a kind that this program has made and that are there."""
    names = [name for name in files.names if re.fullmatch(rf"{re.escape(kind)}\w+", name)]
    return [path for path in map(files.folder.joinpath, names) if path.is_dir() and not path.is_symlink()]


def has_trained(files: Written) -> bool:
    """Return whether there is a checkpoint."""
    return any(path.suffix == ".ckpt" for path in files.files())


def _come_back(files: Written, aside: Path) -> None:
    """Put what was set aside back in the place of what has been written since."""
    if (aside / ALL).exists():
        for path in results(files):
            path.unlink()
        (aside / ALL).unlink()
    for path in aside.iterdir():
        place = files.folder / os.fsdecode(urlsafe_b64decode(path.name))
        if not files.name_of(place).startswith("/"):
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)


def _discard(aside: Path) -> None:
    """Remove what was set aside, of which nothing comes back from here on."""
    with suppress(OSError):
        shutil.rmtree(aside.replace(aside.with_name(aside.name.replace(ASIDE, SCRATCH))))


@contextmanager
def kept_files(run_dir: Path) -> Iterator[None]:
    """Keep what a run that goes on says of itself: if it is refused, the files are again what they were."""
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
    claim(path, partial)
    partial.write_text(text, encoding="utf-8", newline="\n")
    replace(partial, path)


def one_a_line(texts: Sequence[str]) -> str:
    """Return texts as lines, line breaks within them, as a cell of a table may have, as spaces."""
    return "".join(re.sub(r"[\r\n]+", " ", text) + "\n" for text in texts)


def write_folder(folder: Path, save: Callable[[Path], None]) -> None:
    """Have files saved beside a folder, then move each to its place in it.

    `save` writes them into a folder.
    """
    scratch = folder.with_name(f"{SCRATCH}{token_hex(8)}")  # which nobody else has
    claim(scratch)
    try:
        save(scratch / folder.name)
        for path in sorted(each for each in scratch.rglob("*") if each.is_file()):
            place = folder.parent / path.relative_to(scratch)
            claim(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            replace(path, place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def replace(partial: Path, path: Path) -> None:
    """Move a file that is whole to its place; a kill leaves the one or the other."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)
