"""Run the tests next to what has changed since the last commit: make quick

A test file is next to a module that it imports, or that a test changed in it names; the changed test files come first. Tests
that start programs are left out, and the others are for make test.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rooms import ROOT, files, imports

MOST = 400
"""Tests at most, about a minute."""


def changed(since: str = "HEAD") -> set[Path]:
    """Return the files that differ from a commit, and new ones that git does not ignore."""
    commands = ["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]
    found = (subprocess.run(["git", *each], cwd=ROOT, check=True, capture_output=True, text=True).stdout for each in commands)  # fmt: skip
    return {ROOT / name for text in found for name in text.splitlines()}


def distances(changes: set[Path]) -> dict[Path, int]:
    """Return the test files from which imports lead to a change, with the number of imports on the shortest way."""
    modules = files()
    names = {name: path for path, name in modules.items()}

    def next_to(path: Path) -> set[Path]:
        found = (name if name in names else name.rpartition(".")[0] for name in imports(path))
        return {names[name] for name in found if name in names}

    ways = {path: next_to(path) for path in modules}
    found = {}
    for test in [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("packages/*/tests/test_*.py")]:
        reached, edge, distance = {test}, {test}, 0
        while edge and not edge & changes:
            edge = {each for path in edge for each in ways.get(path) or next_to(path)} - reached
            reached |= edge
            distance += 1
        if edge:
            found[test] = distance
    return found


class Nearest:
    """A plugin of pytest that keeps `MOST` tests, those of the nearest files, and none that starts a program."""

    def __init__(self, order: dict[Path, int]) -> None:
        self.order = order

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out the others."""
        near = sorted(items, key=lambda item: self.order[item.path])
        near = [item for item in near if "launch" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in near[:MOST]])
        items[:] = near[:MOST]


def main() -> int:
    """Run them."""
    order = distances(changed(*sys.argv[1:]))
    if not order:
        print("nothing has changed that a test imports: make quick ARGS=COMMIT compares with another commit")
        return 0
    nearest = min(order.values())
    tests = [str(path) for path, distance in order.items() if distance <= max(1, nearest)]
    return int(pytest.main(["-q", "-x", "-m", "not long", *tests], plugins=[Nearest(order)]))


if __name__ == "__main__":
    sys.exit(main())
