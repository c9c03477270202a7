"""What a run is made of that its configuration only names: text, weights to start from, vectors, code of the user's own."""

import inspect
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from hydra_checked import imported
from seq2seq.common.errors import InputError
from seq2seq.common.named import PROGRAM, is_within, named
from seq2seq.data.addresses import read_json
from seq2seq.data.folders import config_of
from seq2seq.settings.config import Settings

if TYPE_CHECKING:
    from seq2seq.data.datamodule import TranslationDataModule

START = "the model of init_from"
Parts = dict[tuple[str, str], str]
"""What is named, and the keys that name it -> a digest of it."""


def parts_of(settings: Settings, data: "TranslationDataModule") -> Parts:
    """Return the parts of a run whose objects are built."""
    from seq2seq.data.datamodule import AFTER_TEXT

    config: Any = OmegaConf.to_container(settings.config)
    named_text = {key: value for key, value in config["data"].items() if key not in AFTER_TEXT}
    digest = f"{zlib.crc32(repr(data.text_checksums).encode()):08x}"
    found: Parts = {("the text", json.dumps(named_text, sort_keys=True, default=str)): digest}
    if config["init_from"] is not None:
        weights = read_json(config_of(config["init_from"])).get("sha256")
        found[START, config["init_from"]] = json.dumps(weights, sort_keys=True)
    files = [config["model"].get(f"{side}_vectors") for side in ("source", "target")]
    for target in sorted({*named(config)}):
        with suppress(TypeError, OSError):  # it has no source, or that of a notebook
            if not is_within(target, PROGRAM):
                files.append(inspect.getsourcefile(inspect.unwrap(imported(target))))
    for file in filter(None, files):
        if Path(file).is_file() and "site-packages" not in file:
            found[file, ""] = f"{zlib.crc32(Path(file).read_bytes()):08x}"
    return found


def digests_of(parts: Parts) -> dict[str, str]:
    """Return a digest of the model to start from, ``start``, and one of the other parts, ``made_of``, of eight hexadecimal digits."""
    start = [digest for (name, _), digest in parts.items() if name == START]
    others = [digest for (name, _), digest in parts.items() if name != START]
    known = {"made_of": others, "start": start}
    return {name: f"{zlib.crc32(repr(each).encode()):08x}" for name, each in known.items() if each}


def require_same_in_sweep(parts: Parts, sweep: Path, *, overwrite: bool) -> None:
    """Note the parts of a job in the folder of its sweep, all of whose jobs that name the same have the same.

    Raises:
        InputError: One has changed since an earlier job, and this job does not `overwrite` what that was.
    """
    for part, digest in parts.items():
        note = sweep / ".parts" / f"{zlib.crc32(repr(part).encode()):08x}"
        note.parent.mkdir(exist_ok=True)
        with suppress(FileExistsError), note.open("w" if overwrite else "x") as file:
            file.write(digest)
        if note.read_text() not in (digest, ""):
            raise InputError(
                f"{sweep}: {part[0]} has changed since earlier jobs of this sweep, so seeds and settings could not be compared: "
                "restore it, or give another experiment_name"
            )
