"""The files that the runs in a folder have written: its list ``.seq2seq``. Nothing else is ever replaced or removed.

A file is listed before it is written, so that a kill leaves none that nobody knows. A line is a path as JSON: in the
folder, which may be moved and copied, or the whole path of a file elsewhere, such as a checkpoint behind a link.
"""

import json
import os
import socket
from contextlib import suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from seq2seq.common.errors import InputError

LIST, EVENTS = ".seq2seq", "events.out.tfevents.*"


def event_files() -> str:
    """Return the pattern of TensorBoard's names for the event files of this process."""
    return f"{EVENTS}.{escape(socket.gethostname())}.{os.getpid()}.*"


class Written:
    """The list of a folder. Relative paths are in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.names = set[str]()
        self._read()

    def _read(self) -> None:
        path = self.folder / LIST
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
            with suppress(ValueError, RecursionError):  # half a line, of a start that was killed
                self.names.add(self.name_of(str(json.loads(line))))

    def name_of(self, path: str | Path) -> str:
        """Return the name of a file in the list: in the folder, or else the whole path."""
        place = (self.folder / path).parent.resolve() / Path(path).name
        return str(place.relative_to(self.folder) if place.is_relative_to(self.folder) else place)

    def __contains__(self, path: str | Path) -> bool:
        name = self.name_of(path)
        folder, file = os.path.split(name)
        patterns = (each for each in map(os.path.split, self.names) if each[1].startswith(EVENTS))
        return name in self.names or any(
            folder == each[0] and fnmatchcase(file, each[1]) for each in patterns
        )

    def files(self) -> list[Path]:
        """Return the files that are there."""
        parents = {(self.folder / name).parent for name in self.names}
        found = (path for parent in parents if parent.is_dir() for path in parent.iterdir())
        return sorted(path for path in found if path in self and not path.is_dir())

    def require_free(self, *paths: str | Path) -> None:
        """Raise InputError if something is in the way of a file that no run here has written."""
        places = [self.folder / path for path in paths]
        there = [each for path in places for each in (path, *path.parents) if os.path.lexists(each)]
        self._read()  # another process may have written it
        for each in there:
            if (each not in self or each.is_dir()) if each in places else not each.is_dir():
                why = "is in the way of a run, and no run here has written it"
                raise InputError(
                    f"{each} {why}: move it away, or give name=… or hydra.run.dir=… for another folder"
                )

    def claim(self, *paths: str | Path) -> None:
        """List files before they are written, see `require_free`."""
        self.require_free(*paths)
        self.add(*paths)

    def add(self, *paths: str | Path) -> None:
        """List files, whoever wrote what is there."""
        if new := {self.name_of(path) for path in paths} - self.names:
            with (self.folder / LIST).open("a", encoding="utf-8") as file:
                file.write("".join(f"\n{json.dumps(each)}" for each in sorted(new)))
                file.flush()
                os.fsync(file.fileno())
            self.names |= new


RUN: ContextVar[Written | None] = ContextVar("run", default=None)
"""The list of the run that is at work."""


def claim(*paths: str | Path) -> None:
    """List files of the run that is at work before they are written, see `Written.claim`."""
    if (files := RUN.get()) is not None:
        files.claim(*(Path(path).absolute() for path in paths))


def is_own(path: str | Path) -> bool:
    """Return whether the run that is at work has written a file."""
    return (files := RUN.get()) is not None and Path(path).absolute() in files
