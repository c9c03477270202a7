"""Parts by name: ours, those that other packages bring, and those made in a notebook.

Another package brings a part through an entry point in its ``pyproject.toml``:

    [project.entry-points."seq2seq.scores"]
    cosine = "its_module:cosine"

It is imported when it is asked for, not before. `Registry.add` makes a part known to this process
alone. docs/extending.md has the doors.
"""

import difflib
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import metadata
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")

ADDED = "SEQ2SEQ_ADDED_"
"""Variables of the environment that begin so tell the jobs of a sweep what their notebook added."""


class Registry(Generic[Part]):
    """The parts of a kind.

    Attributes:
        built_in: ours. Nobody else can take their names.
        group: of the entry points, ``seq2seq.<kind>s``, or by the `plural`.

    Args:
        kind: what a part is, in one word.
        built_in: see above.
        contract: the class or protocol that every part keeps.
        reserved: names that mean something else where parts are named.
        plural: of the kind, where it is no ``s`` more.
    """

    def __init__(
        self,
        kind: str,
        built_in: Mapping[str, Part],
        contract: type[Any],
        reserved: Container[str] = (),
        plural: str = "",
    ) -> None:
        self._kinds = plural or f"{kind}s"
        self.built_in, self.group = built_in, f"seq2seq.{self._kinds}"
        self._kind, self._contract, self._reserved = kind, contract, reserved
        self._added: dict[str, Part] = {}
        self._warned: set[str] = set()

    def add(self, name: str) -> Callable[[Any], Any]:
        """A decorator that gives a part a name; again, it replaces the part.

        Raises:
            ValueError: the name is built in.
            TypeError: the part does not keep the contract, or the name is none for a part.
        """
        if name in self.built_in:
            raise ValueError(f"{self._kind} {name!r} is built in: choose another name")

        def keep(part: Any) -> Any:
            self._added[name] = self._sound(name, part, f"{self._kind} {name!r}")
            os.environ[f"{ADDED}{self._kind}_{name}"] = "1"
            return part

        return keep

    def names(self) -> list[str]:
        """Every name: the built-in ones, then the others, sorted. Imports no other package."""
        others = {*self._added, *offered(self.group).names}
        return [*self.built_in, *sorted(others - self.built_in.keys())]

    def require(self, name: str) -> None:
        """Check that a name is known. Imports no other package.

        Raises:
            ValueError: it is not; the message has the nearest ones.
        """
        names = self.names()
        if name not in names:
            if f"{ADDED}{self._kind}_{name}" in os.environ:
                raise ValueError(
                    f"{self._kind} {name!r} was added in the process that started this one, which "
                    "alone knows of it: have a package bring it"
                )
            nearest = " or ".join(repr(near) for near in difflib.get_close_matches(name, names))
            question = f", did you mean {nearest}?" if nearest else ";"
            known = ", ".join(names) or "none"
            raise ValueError(
                f"unknown {self._kind} {name[:80]!r}{question} known {self._kinds}: {known}"
            )

    def __getitem__(self, name: str) -> Part:
        """The part of a name.

        Raises:
            ValueError: the name is unknown; the message has the nearest ones.
            ImportError: the package that brings the part cannot be imported, or several bring one.
            TypeError: the part does not keep the contract, or the name is none for a part.
        """
        self.require(name)
        for own in (self.built_in, self._added):
            if name in own:
                return own[name]
        entry_point, *others = offered(self.group).select(name=name)
        package = entry_point.dist.name if entry_point.dist else entry_point.value
        described = f"{self._kind} {name!r} of the package {package!r}"
        if others:
            raise ImportError(f"{described} is another package's too: uninstall one of them")
        with foreign(f"{described} cannot be imported from {entry_point.value!r}"):
            part = entry_point.load()
        return self._sound(name, part, described)

    def made(self, name: str, *given: Any, **named: Any) -> Any:
        """What the part of a name makes when it is called.

        Raises:
            ValueError: the name is unknown, or of a part of ours: what it is given is wrong.
            ImportError: the part is another package's, which fails.
            TypeError: as from `self[name]`.
        """
        part: Any = self[name]
        with nullcontext() if name in self.built_in else foreign(f"{self._kind} {name!r} fails"):
            return part(*given, **named)

    def working(self) -> dict[str, Part]:
        """Every part by name; those that cannot be had are left out, which a line says once."""
        parts = {}
        for name in self.names():
            try:
                parts[name] = self[name]
            except (ImportError, TypeError) as error:
                if name not in self._warned:
                    reason = str(error).partition("\n")[0]
                    print(f"WARNING: left out: {reason}", file=sys.stderr)
                    self._warned.add(name)
        return parts

    def _sound(self, name: str, part: Any, described: str) -> Part:
        if not name.isidentifier() or name in self._reserved:
            raise TypeError(f"{described} cannot be called that: give it another plain name")
        if not isinstance(part, self._contract):
            raise TypeError(f"{described} is no {self._contract.__name__}: {part!r:.80}")
        return part


@contextmanager
def foreign(what: str) -> Iterator[None]:
    """Another package's code, which may fail in any way, and call exit.

    Raises:
        ImportError: it did; the message begins with these words.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        raise ImportError(f"{what}: {type(error).__name__}: {error}") from error


def offered(group: str) -> metadata.EntryPoints:
    """The entry points of all installed packages in a group."""
    return _offered(group, tuple(sys.path))


@cache
def _offered(group: str, path: tuple[str, ...]) -> metadata.EntryPoints:  # noqa: ARG001 - the key
    try:
        return metadata.entry_points(group=group)
    except Exception as error:
        reason = f"the entry points of a package cannot be read ({error})".partition("\n")[0]
        print(f"WARNING: left out: all {group} of other packages: {reason}", file=sys.stderr)
        return metadata.EntryPoints()
