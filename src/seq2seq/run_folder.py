"""The folder of a run: who works in it, what it holds, and what is printed of it."""

import filecmp
import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import filelock
from hydra.utils import get_object
from omegaconf import OmegaConf

from seq2seq.arguments import arguments_of
from seq2seq.errors import InputError
from seq2seq.old_names import OLD_CLASSES

FREE = (
    "paths.", "hydra.", "name", "threads", "ckpt_path", "overwrite", "metric", "logger.", "decoding.",
    "trainer.max_epochs", "trainer.max_steps", "trainer.enable_", "trainer.log_every", "trainer.profiler",
    "trainer.default_root_dir", "callbacks.attention.", "callbacks.samples.", "callbacks.epoch_lines.",
    "callbacks.checkpoint.dirpath", "init_from",
)  # fmt: skip
"""Keys that may change between a run and its continuation: longer training, other pictures and places."""

WRITTEN = (
    "config.yaml", "tokenizers", "checkpoints", "events.out.tfevents.*", "hparams.yaml", "metrics.csv", "model",
    "predictions", "metrics.json", "auto_config.json",
)  # fmt: skip
"""What a run leaves in its folder."""


def from_here(path: Path) -> Path:
    """Return a path relative to the working folder where it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def lock(run_dir: Path) -> Any:
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


def clear(run_dir: Path) -> None:
    """Remove the files of an earlier run from its folder; other files stay."""
    for pattern in WRITTEN:
        for path in run_dir.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def finished_metrics(run_dir: Path, config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the metrics of the finished run in the folder; None if training is to start or to continue.

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
    old, new = flat(before), flat(config)
    place = old.get("paths.run_dir")  # the folder may have been moved
    old = {k: v.replace(place, str(run_dir)) if place and isinstance(v, str) else v for k, v in old.items()}
    gone = [key for key in old.keys() - new.keys() if _is_gone(key, old, new)]
    if gone:
        print(
            f"WARNING: {path} holds {', '.join(sorted(gone))}, which no longer exists; left out",
            file=sys.stderr,
        )
    differing = [
        key
        for key in dict.fromkeys([*new, *old])
        if key not in gone
        and old.get(key) != new.get(key)
        and not f"{key}.".startswith(tuple(f"{k.rstrip('.')}" for k in FREE))
    ]
    last = {key: [str(each.get(key)).rpartition(".")[2] for each in (old, new)] for key in differing}
    differing = [key for key in differing if OLD_CLASSES.get(last[key][0]) != last[key][1]]
    if differing:
        shown = ", ".join(f"{key}={old.get(key)} (now {new.get(key)})" for key in differing[:3])
        more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
        raise InputError(
            f"{run_dir} holds another run: {shown}{more}; choose another name with name=…, or overwrite=true"
        )
    if not (run_dir / "metrics.json").is_file():
        return None
    metrics = read_json(run_dir / "metrics.json")

    def limit(values: dict[str, Any], key: str) -> float:
        value = values.get(key)
        return value if isinstance(value, int) and value >= 0 else math.inf

    longer = any(limit(new, key) > limit(old, key) for key in ("trainer.max_epochs", "trainer.max_steps"))
    return None if longer else metrics


def _is_gone(key: str, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether a key of an earlier configuration is an argument that its class no longer has."""
    node, _, name = key.rpartition(".")
    target = new.get(f"{node}._target_")
    if target is None or old.get(f"{node}._target_") != target:
        return False
    arguments, takes_any = arguments_of(get_object(target))
    return not takes_any and name not in arguments


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one with dotted keys."""
    if isinstance(node, dict):
        return {k: v for key, value in node.items() for k, v in flat(value, f"{prefix}{key}.").items()}
    return {prefix.rstrip("."): node}


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of a run folder.

    Raises:
        InputError: It is missing or damaged.
    """
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be read ({error!s:.100}): give name=… or overwrite=true") from error


def write_json(path: Path, value: Any) -> None:
    """Write a value, see `write_text`."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that is never seen half written; one that holds the text already is not changed."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    replace_changed(partial, path)


def write_tokenizers(folder: Path, save: Callable[[Path], None]) -> None:
    """Have the tokenizers saved beside a folder, then replace its files that have changed.

    Args:
        folder: To write.
        save: Writes the files into a folder.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    save(partial)
    for path in sorted(each for each in partial.rglob("*") if each.is_file()):
        place = folder / path.relative_to(partial)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_changed(path, place)
    shutil.rmtree(partial)


def replace_changed(partial: Path, path: Path) -> None:
    """Move a file that is whole to its place, unless that holds the same; a kill leaves the one or the other."""
    if path.is_file() and filecmp.cmp(partial, path, shallow=False):
        partial.unlink()
        return
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
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
            pairs = [f"{name[5:]} {scores[name]:.1f}" for name in scores if re.match("bleu_.*-", name)]
            shown += f"   ({', '.join(pairs)})" if pairs else ""
            lines.append(f"{title:<11} {shown}   ({scores['num_sentences']:,} sentences, {search} search)")
            title = ""  # noqa: PLW2901 - once a split
    signatures = {s["bleu_signature"] for c in metrics.values() if isinstance(c, dict) for s in c.values()}
    lines += [f"BLEU is     {signature}" for signature in sorted(signatures)]
    minutes, seconds = divmod(round(metrics["seconds"]), 60)
    started = Path(sys.argv[0])  # train.py of a clone, or the module of `seq2seq train`
    in_clone = started.name == "train.py" and started.parent.name != "cli"
    command = "python scripts/translate.py" if in_clone else "seq2seq translate"
    run_dir = from_here(run_dir)
    lines += [
        f"time        {minutes}:{seconds:02d}",
        f"results     {run_dir}",
        *(
            [f"look        tensorboard --logdir {shlex.quote(str(run_dir.parent))}"]
            if any(run_dir.glob("events.out.*"))
            else []
        ),
        f"translate   {command} {shlex.quote(str(run_dir))} < sentences.txt",
    ]
    lines += [f"{'' if place else 'examples':<11} {text}" for place, text in enumerate(examples)]
    return "\n".join(lines)
