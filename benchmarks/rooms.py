"""Count the rooms of the source and the arrows between them: python -m benchmarks.rooms

A room is a part of `src/seq2seq`, a package or a single file, or a package beside it, of `packages`. An arrow is an
import from one room in another, at any depth of its code. Printed are the lines of each room and the number of imports
of each arrow; arrows that do not go down the `LEVELS` end in ↑.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

LEVELS = [
    {"common"},
    {"attention"},
    {"data"},
    {"models", "evaluation"},
    {"decoding"},
    {"training", "export", "settings"},
    {"run"},
    {"cli"},
]
"""Rooms of seq2seq: each imports from those above it in this list, and from itself."""


def files() -> dict[Path, str]:
    """Return all files of the source with the dotted names of their modules."""
    found = {}
    for root in (ROOT / "src", *sorted(ROOT.glob("packages/*/src"))):
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[path] = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return found


def imports(path: Path) -> Iterator[str]:
    """Return the names of modules, and of what is taken from them, that a file imports at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(name: str, modules: set[str]) -> str | None:
    """Return the room of a module, or of what is taken from it; None: it is no part of the source."""
    while name not in modules:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    parts = name.split(".")
    return parts[1] if parts[0] in ("seq2seq", "hydra_plugins") and parts[1:] else parts[0]


def rooms_and_arrows() -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Return the lines of each room, and the number of imports of each arrow, the room that imports first."""
    found = files()
    modules = set(found.values())
    lines, arrows = Counter[str](), Counter[tuple[str, str]]()
    for path, name in found.items():
        room = str(room_of(name, modules))
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
        others = (room_of(each, modules) for each in imports(path))
        arrows.update((room, other) for other in others if other not in (None, room))
    return lines, arrows


def upward(arrows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the arrows that do not go down the levels."""
    level = {name: place for place, names in enumerate(LEVELS) for name in names}
    return [each for each in arrows if {*each} <= level.keys() and level[each[1]] >= level[each[0]]]


def main() -> None:
    """Count and print."""
    rooms, arrows = rooms_and_arrows()
    against = upward(arrows)
    for room, lines in sorted(rooms.items()):
        others = sorted(other for each, other in arrows if each == room)
        shown = (f"{other} {arrows[room, other]}{' ↑' * ((room, other) in against)}" for other in others)
        print(f"{room:27} {lines:6,}  {', '.join(shown)}")
    print(f"{rooms.total():,} lines, {len(rooms)} rooms, {len(arrows)} arrows, {len(against)} upward")


if __name__ == "__main__":
    main()
