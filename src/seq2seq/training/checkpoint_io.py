"""How Lightning writes and reads the checkpoints of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightning.fabric.plugins import CheckpointIO

from seq2seq.experiments.checkpoints import LAST, PREVIOUS
from seq2seq.training.checkpoint_file import read_checkpoint, write_checkpoint


class DurableCheckpointIO(CheckpointIO):
    """Whole checkpoints only; of ``last.ckpt`` the one before stays, as ``previous.ckpt``.

    Args:
        require_place: raises where another process writes, too.
    """

    def __init__(self, require_place: Callable[[], None]) -> None:
        super().__init__()
        self._require_place = require_place
        self.check: Callable[[Path, dict[str, Any]], None] = lambda _path, _checkpoint: None
        """Refuses a checkpoint that was read."""

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | Path,
        storage_options: Any = None,  # noqa: ARG002
    ) -> None:
        """Write, see `write_checkpoint`."""
        self._require_place()
        path = Path(path)
        previous = path.with_name(PREVIOUS) if path.name == LAST else None
        write_checkpoint(path, checkpoint, previous=previous)

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Any = "cpu",
        weights_only: bool | None = None,  # noqa: ARG002 - always
    ) -> dict[str, Any]:
        """Read, see `read_checkpoint`."""
        checkpoint = read_checkpoint(Path(path), map_location=map_location or "cpu")
        self.check(Path(path), checkpoint)
        return checkpoint

    def remove_checkpoint(self, path: str | Path) -> None:
        """Remove a checkpoint."""
        Path(path).unlink(missing_ok=True)
