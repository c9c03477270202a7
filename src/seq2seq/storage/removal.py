"""Removes what this program has written, by its name, and nothing else."""

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

PARTIAL = ".partial"
"""End of the name of what is being written."""

NEW, OLD = rf"[0-9a-f]{{16}}\{PARTIAL}", rf"[0-9]+(\{PARTIAL})?"
"""What follows the name of the thing; of old, the number of the process."""


def remove_leftovers(folder: Path, names: Collection[str], *, inside: Collection[str] = ()) -> None:
    """Remove what a crash left of things that were being written.

    Args:
        folder: where they were to be; by a process that no other writes beside.
        names: of the things.
        inside: the files of those that are folders, see `remove_folder`.
    """
    for path in _leftovers(folder, names):
        remove_folder(path, inside) if path.is_dir() else path.unlink()


def has_leftovers(folder: Path, names: Collection[str]) -> bool:
    """Whether `remove_leftovers` would find something."""
    return bool(_leftovers(folder, names))


def _leftovers(folder: Path, names: Collection[str]) -> list[Path]:
    if not names or not folder.is_dir():
        return []
    marked = re.compile(rf"\.({'|'.join(map(re.escape, names))})\.({NEW}|{OLD})")
    return [path for path in folder.iterdir() if marked.fullmatch(path.name)]


def remove_folder(folder: Path, names: Collection[str]) -> None:
    """Remove files of ours and what was left of them, and the folder if nothing else is in it.

    Args:
        folder: of ours; nothing happens where there is none. Of a link the link is removed.
        names: the files that are ours, relative to the folder.
    """
    if folder.is_symlink():
        folder.unlink()
        return
    places: dict[Path, list[str]] = {folder: []}
    for name in names:
        places.setdefault((folder / name).parent, []).append(Path(name).name)
    for place in sorted(places, key=lambda each: -len(each.parts)):
        if place.is_symlink():
            continue
        remove_leftovers(place, places[place])
        for name in places[place]:
            with suppress(FileNotFoundError, IsADirectoryError):
                (place / name).unlink()
        with suppress(OSError):  # it is not there, or holds files of others
            place.rmdir()
