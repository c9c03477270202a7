"""What a run ran on: versions, commit, machine, memory."""

import platform
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch", "lightning", "torchtext", "sentencepiece", "sacrebleu", "numpy", "hydra-core",
)  # fmt: skip
"""Packages that decide results."""

MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024


def versions() -> dict[str, str]:
    """Python and the packages that decide results."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in PACKAGES
    }


def git_commit(folder: Path) -> dict[str, Any] | None:
    """The commit that a folder is at, and whether tracked files differ; None outside of git."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "changed": bool(_git(folder, "status", "--porcelain", "-uno"))}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def peak_memory_bytes() -> int:
    """Greatest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MEMORY_UNIT
