"""The processes that train one model together, as one of them sees the others. Needs no torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ProcessGroup(Protocol):
    """What a process knows of its job. All processes call the same methods in the same order.

    Attributes:
        rank: number of this process, from 0.
        size: number of processes.
    """

    @property
    def rank(self) -> int:
        """See above."""

    @property
    def size(self) -> int:
        """See above."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and talks to the user."""

    def total(self, values: Any) -> Any:
        """The sum of a tensor over the processes."""

    def greatest(self, number: int) -> int:
        """The greatest of the processes' numbers."""

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank. They are what JSON can say."""

    def in_turn(self) -> Any:
        """A context: the first process has left the block before another begins it."""

    def may_speak(self) -> bool:
        """Whether this process is the first to ask: an error of all is said once."""


class Alone:
    """The job of one process."""

    rank = 0
    size = 1
    is_first = True

    def total(self, values: Any) -> Any:
        """The values."""
        return values

    def greatest(self, number: int) -> int:
        """The number."""
        return number

    def gather(self, value: Any) -> list[Any]:
        """The value alone."""
        return [value]

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Nobody is waited for."""
        yield

    def may_speak(self) -> bool:
        """Nobody else does."""
        return True


ALONE = Alone()
