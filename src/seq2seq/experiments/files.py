"""Files that are there whole or not at all."""

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, also through a crash of the machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
