"""Which checkpoints of a run stay on the disk."""

from enum import Enum
from pathlib import Path

from seq2seq.storage.removal import remove_folder
from seq2seq.storage.writing import inside

BEST, LAST, PREVIOUS = "best.ckpt", "last.ckpt", "previous.ckpt"


class Keep(Enum):
    """What a sweep leaves of the checkpoints of a job that is done; its model stays anyway."""

    all = "all"
    best = "best"
    none = "none"


def discard_checkpoints(run_dir: Path, keep: Keep) -> None:
    """Remove what is not to be kept; of a run without a best checkpoint, the last one is that."""
    folder = inside(run_dir, "checkpoints")
    if keep is Keep.none:
        remove_folder(folder, (BEST, LAST, PREVIOUS))
    elif keep is Keep.best and (folder / BEST).is_file():
        remove_folder(folder, (LAST, PREVIOUS))
