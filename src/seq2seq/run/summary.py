"""What a run says of itself: on the terminal its scores, in its log the machine and the versions."""

import logging
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.common import VERSION
from seq2seq.common.progress import LOG, counted
from seq2seq.data.folders import examples_of_run, own_classes
from seq2seq.run.folder import RunLog, relative_to_cwd
from seq2seq.settings.application import CONF
from seq2seq.settings.config import Settings

PACKAGES = "torch", "lightning", "hydra-core", "omegaconf", "sentencepiece"


@contextmanager
def logged(folder: Path | None) -> Iterator[list[logging.LogRecord]]:
    """Log as Hydra's job logging does, where Hydra has not set it up, collect warnings, and restore what was before.

    Its levels hide what Lightning says of every run. ``train.log`` of a folder holds what this thread does.
    """
    levels = {name: node.level for name, node in _job_logging().loggers.items() if "level" in node}
    before = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        if before[name] == logging.NOTSET:
            logging.getLogger(name).setLevel(level)
    folders = [
        Path(each.baseFilename).parent for each in LOG.handlers if isinstance(each, logging.FileHandler)
    ]
    thread, told = threading.get_ident(), BufferingHandler(sys.maxsize)
    told.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [told]
    if folder is not None and folder.resolve() not in folders:
        handlers.append(RunLog(folder / "train.log", encoding="utf-8"))
        handlers[-1].setFormatter(logging.Formatter(_job_logging().formatters.dated.format))
    for handler in handlers:
        handler.addFilter(lambda record: record.thread == thread)
        LOG.addHandler(handler)
    try:
        yield told.buffer
    finally:
        for handler in handlers:
            LOG.removeHandler(handler)
            handler.close()
        for name, number in before.items():
            logging.getLogger(name).setLevel(number)


def _job_logging() -> Any:
    return OmegaConf.load(CONF / "hydra/job_logging/seq2seq.yaml")


def log_start(settings: Settings, commit: str | None) -> None:
    """Write into the log what a reader needs to repeat the run: versions, machine, commit, and what was given."""
    config, versions = settings.config, [f"{package} {version(package)}" for package in PACKAGES]
    LOG.info("versions    seq2seq %s, Python %s", ", ".join([VERSION, *versions]), platform.python_version())
    LOG.info("machine     %s, %s cores, process %s", platform.platform(), os.cpu_count(), os.getpid())
    LOG.info("commit      %s", commit or "unknown")
    LOG.info(
        "given       %s", " ".join(f"{key}={value}" for key, value in settings.given.items()) or "nothing"
    )
    for key in ("data", "model", "module", "optimizer", "scheduler", "trainer"):
        LOG.info("%-11s %s", key, OmegaConf.to_container(config[key]) if config[key] else None)


def summary(metrics: dict[str, Any], run_dir: Path) -> str:
    """Return the scores of a run, where its results are, and what to do next."""
    signatures = {s["bleu_signature"] for c in metrics.values() if isinstance(c, dict) for s in c.values()}
    minutes, seconds = divmod(round(metrics["seconds"]), 60)
    example = next(iter(examples_of_run(run_dir)), "A sentence.")
    classes = own_classes(run_dir / "model")
    trust = " --trust-custom-code" if classes else ""
    has_log, run_dir = any(run_dir.glob("events.out.*")), relative_to_cwd(run_dir)
    look = f"{_program('tensorboard')} --logdir {quoted(str(run_dir.parent))}"
    if Path("Makefile").is_file() and Path(sys.argv[0]).absolute() == Path("train.py").absolute():
        look = "make tensorboard" if run_dir.parts[:1] == ("runs",) else look
    lines = [
        *_scores(metrics),
        *(f"BLEU is     {signature}" for signature in sorted(signatures)),
        *(f"{name:<12}{metrics[name]}" for name in ("kept", "ended") if metrics.get(name)),
        *_samples(run_dir / "predictions"),
        f"time        {minutes}:{seconds:02d}",
        f"results     {run_dir}",
        *([f"look        {look}"] if has_log else []),
        f"translate   {_program('seq2seq')} translate {quoted(str(run_dir))}{trust} {quoted(example)}"
        if not any(name.startswith("__main__.") for name in classes)
        else f"translate   seq2seq.load({str(run_dir)!r}, trust_custom_code=True).translate([{example!r}]), in this program; move "
        "its classes to a file for the commands",
    ]
    return "\n".join(lines)


def _samples(folder: Path) -> list[str]:
    """Return the sentences of ``callbacks.samples.texts`` beside their translations."""
    files = [folder / f"samples.{name}.txt" for name in ("source", "translation")]
    if not all(path.is_file() for path in files):
        return []
    sources, targets = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in files)
    width = max(map(len, sources))
    pairs = enumerate(zip(sources, targets, strict=True))
    return [
        f"{'' if place else 'samples':<12}{source:<{width}}   {target}" for place, (source, target) in pairs
    ]


def _scores(metrics: dict[str, Any]) -> list[str]:
    lines = []
    for split, title in (("val", "validation"), ("test", "test")):
        for place, (search, scores) in enumerate(metrics.get(split, {}).items()):
            shown = "   ".join(
                f"{label} {scores[name]:.1f}"
                for name, label in (("bleu", "BLEU"), ("bleu_lowercase", "lower-cased"), ("chrf", "chrF"))
                if name in scores
            )
            pairs = [f"{name[5:]} {scores[name]:.1f}" for name in scores if re.match("bleu_.*-", name)]
            shown += f"   ({', '.join(pairs)})" if pairs else ""
            found_by = f"({counted(scores['num_sentences'], 'sentence')}, {search} search)"
            lines.append(f"{'' if place else title:<11} {shown}   {found_by}")
    return lines


def quoted(text: str) -> str:
    """Return a text as a shell reads it, in double quotes where it has an apostrophe and nothing that they do not protect."""
    return f'"{text}"' if "'" in text and not re.search(r'["`$\\!]', text) else shlex.quote(text)


def _program(name: str) -> str:
    """Return how a shell calls a program of this environment: its name where it is found, or its file."""
    found, file = shutil.which(name), Path(sys.executable).with_name(name)
    same = found is not None and file.exists() and Path(found).samefile(file)
    return name if same or not file.exists() else quoted(str(relative_to_cwd(file)))


def commit_of_program() -> str | None:
    """Return the commit of the clone that the program runs from, ``-dirty`` with other changes; None elsewhere."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
