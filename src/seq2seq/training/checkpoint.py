"""Writing and reading of checkpoints, safe against a kill and a full disk."""

import os
import zipfile
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from seq2seq.common.progress import warn
from seq2seq.errors import TrainingFailed


class DurableCheckpointIO(TorchCheckpointIO):
    """Checkpoint IO of Lightning that writes a temporary file, flushes it to the disk, and then renames it.

    The previous ``last.ckpt`` is kept as ``last.prev.ckpt``, which is read if ``last.ckpt`` is damaged.
    """

    def __init__(self) -> None:
        self._folders: set[Path] = set()

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Write a checkpoint.

        Raises:
            TrainingFailed: The disk is full or not writable; earlier checkpoints are not changed.
        """
        path = Path(path)
        partial = path.with_name(f"{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            if path.name == "last.ckpt":
                replace_last(partial, path)
            else:
                os.replace(partial, path)
            self._folders.add(path.parent.resolve())
        except (OSError, RuntimeError) as error:
            partial.unlink(missing_ok=True)
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
            raise TrainingFailed(
                f"{path} cannot be written ({reason}): earlier checkpoints are kept, the same command continues"
            ) from error

    def remove_checkpoint(self, path: str | Path) -> None:
        """Remove a file ``*.ckpt`` in a folder that this object has written to.

        Lightning reads from the checkpoint which paths to remove; a damaged or foreign one may name any.
        """
        path = Path(path)
        if path.suffix == ".ckpt" and path.is_file() and path.parent.resolve() in self._folders:
            path.unlink()

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Any = lambda storage, _: storage,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Read a checkpoint without running code; if it is damaged, read the previous one.

        Raises:
            TrainingFailed: Neither can be read.
        """
        return read_checkpoint(path, map_location)


def read_checkpoint(path: str | Path, map_location: Any = "cpu") -> dict[str, Any]:
    """Read a checkpoint without running code; if it is damaged, read the previous one.

    Raises:
        TrainingFailed: Neither can be read.
    """
    path, reasons = Path(path), []
    for candidate in (path, previous(path)):
        if not candidate.is_file():
            continue
        try:
            with zipfile.ZipFile(candidate) as archive:
                if broken := archive.testzip():  # torch does not compare the checksums
                    raise ValueError(f"the checksum of {broken} is wrong")
            checkpoint = torch.load(candidate, map_location=map_location, weights_only=True)
            if not isinstance(checkpoint, dict) or "state_dict" not in checkpoint:
                raise ValueError("it holds no training state")
            return checkpoint
        except Exception as error:  # a damaged file can raise anything
            reasons.append(f"{candidate} is damaged ({' '.join(str(error).split())[:120]})")
            if candidate == path and previous(path).exists():
                warn(f"{reasons[-1]}: {previous(path).name} is used")
    raise TrainingFailed(f"{'; '.join(reasons) or f'{path} is missing'}: remove it to start again")


def replace_last(new: Path, path: Path) -> None:
    """Put a file in the place of ``last.ckpt``, which is kept as ``last.prev.ckpt``; there is one at any moment."""
    if path.exists():
        previous(path).unlink(missing_ok=True)
        try:
            os.link(path, previous(path))
        except OSError:  # a file system without links
            os.replace(path, previous(path))
    os.replace(new, path)


def previous(path: Path) -> Path:
    """Return the path of the previous checkpoint, such as ``last.prev.ckpt`` for ``last.ckpt``."""
    return path.with_name(f"{path.stem}.prev{path.suffix}")
