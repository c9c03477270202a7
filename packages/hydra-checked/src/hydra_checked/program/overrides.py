"""Overrides of a command line: the keys that they set, texts as they hold them, and names of runs made of them."""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from hydra_checked.checking import flat
from hydra_checked.errors import Wrong

UNSET = "_unset_"
"""The value of a key before it is deleted, see `Application.deletable`."""

MOST = 40
"""Letters of a run's name."""
SPECIAL = r"""[^\w.,=+~\-\[\]{}()*:'" ]|=\W+(,|$)"""
"""What gives a name a checksum: letters that are replaced in it, other than those of lists, mappings and quotations."""


def as_value(text: str) -> str:
    """Return a text as Hydra's grammar reads it: in quotes, where it needs them."""
    if re.fullmatch(r"[\w/.:-]+", text, re.ASCII):
        return text
    return "'" + re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text) + "'"


def given_keys(overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keys that overrides set, with their values; those of mappings by dotted key."""
    given: dict[str, Any] = {}
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if not override.is_delete() and override.value() != UNSET:
            given |= flat(override.value(), override.key_or_group)
    return given


def run_name(
    overrides: Sequence[str], excluded: Sequence[str] = (), package: str = "", *, _root_: Any = None
) -> str:
    """Return the name of a run, of at most `MOST` letters: its overrides, joined by commas, the seed last; ``default`` without any.

    A key is named by its shortest end that no other key of the configuration `_root_` has, a class by its name. Classes stand before
    words, these before numbers, and these before texts. What does not fit is left out; a checksum of all overrides stands in its place, and
    in that of letters that are no part of a folder's name. The seed is never cut.

    Args:
        overrides: Those of the run's own command line.
        excluded: Keys that are not part of the name.
        package: The program's own, whose classes are named without their modules.
    """
    named = {}
    for override in overrides:
        key, _, value = override.partition("=")
        plain = key.lstrip("+~")
        if plain not in excluded and value != UNSET:
            named[plain] = override
    seed = _readable(named.pop("seed", ""))
    whole = ",".join(named[key] for key in sorted(named))
    keys = [] if _root_ is None else flat(OmegaConf.to_container(_root_, resolve=False))
    ends = shortest_ends(named, [*named, *keys])
    parts = [_shown(ends[key], named[key], package) for key in sorted(named)]
    name = _readable(",".join(sorted(parts, key=lambda part: _rank(part.partition("=")[2]))))
    if len(name) > MOST - len(seed) - 1 or re.search(SPECIAL, whole):
        room = max(MOST - len(seed) - 10, 0)
        fitting = name[: room + 1].rpartition(",")[0] if len(name) > room else name
        cut = fitting or name[:room]
        name = "-".join(filter(None, [cut, f"{zlib.crc32(whole.encode(errors='surrogateescape')):08x}"]))
    return ",".join(filter(None, [name, seed])) or "default"


def shortest_ends(wanted: Iterable[str], keys: Sequence[str]) -> dict[str, str]:
    """Return the shortest end of each key, whole words between dots, that only this key has; of a class, that of its node."""

    def ends(key: str) -> list[str]:
        words = key.removesuffix("._target_").split(".")
        return [".".join(words[place:]) for place in reversed(range(len(words)))]

    owners = defaultdict[str, set[str]](set)
    for key in keys:
        for end in ends(key):
            owners[end].add(key.removesuffix("._target_"))
    return {key: next((end for end in ends(key) if len(owners[end]) == 1), ends(key)[-1]) for key in wanted}


def _shown(short: str, override: str, package: str) -> str:
    """Return an override as a name has it: its short key, and a class of the program without its modules."""
    key, sign, value = override.partition("=")
    removed = "~" if key.startswith("~") else ""
    if package:
        value = re.sub(rf"^{re.escape(package)}(\.\w+)*\.(?=\w)", "", value)
    return removed + short + sign + value


def _rank(value: str) -> int:
    """Return -1 for a class, 0 for a word, 1 for a number or a flag, 2 for another text."""
    if re.fullmatch(r"([a-z_]\w*\.)*[A-Z]\w*[a-z]\w*", value):
        return -1
    return 0 if re.fullmatch(r"(?!true|false|null)[A-Za-z_][\w.]*", value) else 1 if len(value) < 12 else 2


def _readable(text: str) -> str:
    return re.sub(r"[^\w.,=+-]+", "-", text)


LONGEST = 255
"""Bytes of the name of a folder, on the usual file systems."""


def folder_name(name: str, key: str = "name") -> str:
    """Return the name of a run's or an experiment's folder as it is.

    Raises:
        Wrong: It is empty, leaves the folder of the runs, has a $, which loggers take for a variable, or is too long for a disk.
    """
    longest = max(str(name).split("/"), key=lambda part: len(part.encode()))
    if len(longest.encode()) > LONGEST:
        raise Wrong(
            f"{key}={longest[:40]}…: a folder's name has at most {LONGEST} bytes, and this one {len(longest.encode())}"
        )
    if not str(name).strip() or "$" in str(name) or {"", ".", ".."} & {*str(name).split("/")}:
        raise Wrong(
            f"{key}={name}: the name of a folder is needed, without $, such as {key}=first or {key}=first/a"
        )
    return str(name)
