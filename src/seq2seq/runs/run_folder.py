"""Where a run lives."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from seq2seq.config import Config
from seq2seq.decoding.model_files import MODEL_FILES
from seq2seq.errors import InputError
from seq2seq.experiments.checkpoints import BEST, LAST
from seq2seq.option_rules import key_of
from seq2seq.storage.removal import remove_leftovers
from seq2seq.storage.writing import inside
from seq2seq.text.codec_files import CODEC_FILES

PLACES = ("experiment", "name", "runs_dir", "data.root", "data.file")

NOT_IN_NAME = (
    *PLACES, "resume", "resume.", "device.threads", "logger", "tensorboard.", "allow_overlap",
    "trainer.log_every", "trainer.checkpoint_every", "trainer.profile", "data.store",
    "data.store_from", "data.download", "data.address", "data.train.", "data.validation.source",
    "data.validation.target", "data.test.",
)  # fmt: skip
"""Keys, or beginnings of keys, that place a run, or say how it is made and watched."""

MAX_LENGTH = 120
MOST_BYTES = 255
"""Of the name of a folder."""

SEEN = "seen.digests"
"""What a run was trained on, see `seen_text`."""

CONTENT = {
    ".": ("config.yaml", "ledger.json", "metrics.json", "model", SEEN),
    "checkpoints": (BEST, LAST),
    "tokenizer": CODEC_FILES,
    "translations": ("test.jsonl", "validation.jsonl"),
}
"""What a run writes, by folder, besides its event files."""


def run_folder(config: Config, overrides: Sequence[str]) -> Path:
    """``runs_dir/experiment_name/name``, the name made from the overrides unless it is given.

    The parts cannot lead out of `runs_dir`: signs other than letters, digits and ``=,.+-_``
    become ``-``, and no part begins with a dot. A folder that an earlier version has named is
    found, too: version 0.1 left only `PLACES` out.
    """
    parent = Path(config.runs_dir) / safe_name(config.experiment_name)
    folder = parent / safe_name(config.name or name_from_overrides(overrides))
    if config.name is None and not folder.exists():
        earlier = parent / safe_name(name_from_overrides(overrides, PLACES))
        return earlier if earlier.is_dir() else folder
    return folder


def require_place(run_dir: Path) -> None:
    """Refuse a folder that cannot be made, without making it.

    Raises:
        InputError: what is there of the way to it is no folder of ours.
    """
    nearest = next(path for path in (run_dir, *run_dir.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"{run_dir} cannot be made: {nearest} is no folder that can be written to: set "
            "runs_dir to a folder of yours"
        )


def tidy(run_dir: Path) -> None:
    """Remove what a crash left half written in the folder of a run, which is locked.

    Raises:
        InputError: a link in the folder leads out of it.
    """
    inside(run_dir, "model")
    for folder, names in CONTENT.items():
        remove_leftovers(inside(run_dir, folder), names, inside=MODEL_FILES)


def named_in_sweep(name: str, overrides: Sequence[str]) -> list[str]:
    """The overrides of a job whose configuration gives it a name that other jobs have too."""
    others = [text for text in overrides if text.partition("=")[0] != "name"]
    own_name = safe_name(f"{name},{name_from_overrides(others)}")
    return [*others, f"name='{own_name}'"]


def name_from_overrides(overrides: Sequence[str], without: Sequence[str] = NOT_IN_NAME) -> str:
    """A name such as ``attention=scaled_dot,seed=2``; ``default`` where nothing is overridden."""
    return ",".join(sorted(text for text in overrides if _is_named(text, without))) or "default"


def naming(overrides: Sequence[str]) -> dict[str, str]:
    """The values, by key or group, that a name is made of."""
    named = (text for text in overrides if _is_named(text, NOT_IN_NAME))
    return {key_of(text): text.partition("=")[2] for text in named}


def _is_named(override: str, without: Sequence[str]) -> bool:
    key = override.partition("=")[0]
    return not any(key.startswith(each) if each.endswith(".") else key == each for each in without)


def safe_name(part: str) -> str:
    """A text as one part of a path that cannot lead elsewhere, of bounded length."""
    safe = re.sub(r"[^\w=,.+-]+", "-", part).lstrip(".-") or "run"
    encoded = safe.encode()
    if len(safe) <= MAX_LENGTH and len(encoded) <= MOST_BYTES:
        return safe
    digest = hashlib.sha256(part.encode(errors="backslashreplace")).hexdigest()[:8]
    kept = encoded[: MOST_BYTES - 9].decode(errors="ignore")[: MAX_LENGTH - 9]
    return f"{kept}-{digest}"
