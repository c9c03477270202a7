"""Folders of configurations that installed packages bring, by the entry points ``seq2seq.conf``.

Such an entry point names a package, which is not imported: its folder ``conf`` is like ours.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from seq2seq.registry import foreign, offered

GROUP = "seq2seq.conf"


def package_folders() -> Iterator[tuple[str, Path]]:
    """Name and folder of each; one that is not there is left out, which a line says."""
    for entry_point in sorted(offered(GROUP), key=lambda each: (each.name, each.value)):
        package = entry_point.dist.name if entry_point.dist else entry_point.value
        try:
            with foreign("it cannot be found"):
                spec = find_spec(entry_point.value)
                places = (spec and spec.submodule_search_locations) or []
                yield (
                    package,
                    next(path for each in places if (path := Path(each, "conf")).is_dir()),
                )
        except ImportError:
            said = f"{GROUP} of the package {package!r}: {entry_point.value!r} has no folder conf"
            print(f"WARNING: left out: {said}", file=sys.stderr)
