"""The program's own files: beside its code where it is installed, above ``src`` in a clone."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CLONE = None if (PACKAGE / "conf").is_dir() else PACKAGE.parents[1]
"""The folder of a clone; None where the program is installed without one."""

OWN = CLONE or PACKAGE
"""The folder of conf/, data/grammar/ and docs/."""

CONF = OWN / "conf"


def own_file(name: str) -> str:
    """What a message calls a file of the program: its place, where nobody sees a clone."""
    return name if CLONE else str(OWN / name)
