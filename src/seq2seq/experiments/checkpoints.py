"""Which checkpoints of a run stay on the disk."""

import shutil
from enum import Enum
from pathlib import Path


class Keep(Enum):
    """What a sweep leaves of the checkpoints of a job that is done; its model stays anyway."""

    all = "all"
    best = "best"
    none = "none"


def discard_checkpoints(run_dir: Path, keep: Keep) -> None:
    """Remove what is not to be kept; of a run without a best checkpoint, the last one is that."""
    folder = run_dir / "checkpoints"
    if keep is Keep.none:
        shutil.rmtree(folder, ignore_errors=True)
    elif keep is Keep.best and (folder / "best.ckpt").is_file():
        for path in folder.glob("*.ckpt"):
            if path.name != "best.ckpt":
                path.unlink(missing_ok=True)
