"""What is wrong with the nodes of a configuration that become objects."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from typing import Any

from hydra_checked.annotations import BOUNDS, KINDS, Kind, fits, in_words, kind_of, takes_null
from hydra_checked.errors import Wrong
from hydra_checked.names import nearest
from hydra_checked.signatures import arguments_of, needed_by, parameters_of

Bounds = Mapping[str, Mapping[str, Kind]]


def check(config: Any, schema: Any = None, **options: Any) -> None:
    """Check the nodes of a configuration that have ``_target_`` against the signatures of their classes or functions.

    Args:
        config: Composed by Hydra, or a node of it.
        schema: A dataclass of its keys; annotations that are dataclasses are those of nodes.
        **options: See `problems`.

    Raises:
        Wrong: A target does not exist, has no such argument or lacks one, or its annotation forbids the value.
    """
    if found := problems(config, schema, **options):
        raise Wrong("; ".join(found[:2]))


def problems(
    config: Any, schema: Any = None, *, key: str = "", passed: Mapping[str, Sequence[str]] | None = None,
    taken: Bounds | None = None, bounds: Bounds | None = None, imports: bool = True,
) -> list[str]:  # fmt: skip
    """Return what `check` refuses, a line each.

    Args:
        config: Composed by Hydra, or a node of it.
        schema: A dataclass of its keys.
        key: That of `config`, where it is a node.
        passed: Arguments that the program gives, by the key of a node: they may be absent or null.
        taken: What keys may be that the program takes from a node for itself, by the key of the node and name.
        bounds: What arguments may be, by class and name, before their annotations; also for derived classes.
        imports: False: import nothing, and compare with `bounds` alone.
    """
    if not isinstance(config, dict | list):
        from omegaconf import OmegaConf

        config = OmegaConf.to_container(config, resolve=True)
    found = [] if schema is None else _of_node(key, config, kind_of(schema)[0], (passed or {}).get(key))
    for place, node, target in objects(config, key):
        given = (passed or {}).get(re.sub(r"\[\d+\]", "", place))
        own = dict((taken or {}).get(place, {}))
        if not imports:
            found += _of_values(place, node, {**(bounds or {}).get(target, {}), **own}, given or (), {})
            continue
        try:
            called = imported(target)
        except ImportError as error:
            found.append(f"{join(place, '_target_')}={target}: {' '.join(str(error).split())}")
            continue
        kind = {
            "keys": _kinds(called, bounds or {}) | own,
            "needs": needed_by(called),
            "any": arguments_of(called)[1],
        }
        kind["defaults"] = {name: each.default for name, each in parameters_of(called).items()}
        found += _of_node(place, node, kind, given)
    return found


def objects(node: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield every mapping that becomes an object, with its dotted key and what it is made of; those that hold others first."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield key, node, node["_target_"]
        for name in list(node):
            if name in node:  # it may have been left out meanwhile
                yield from objects(node[name], join(key, name))
    elif isinstance(node, list):
        for place, each in enumerate(node):
            yield from objects(each, f"{key}[{place}]")


def join(key: str, name: Any) -> str:
    """Return the dotted key of a name in a node."""
    return f"{key}.{name}" if key else str(name)


def flat(node: Any, key: str = "") -> dict[str, Any]:
    """Return nested mappings as one with dotted keys."""
    if isinstance(node, dict):
        return {k: v for name, value in node.items() for k, v in flat(value, join(key, name)).items()}
    return {key: node}


def imported(path: Any) -> Callable[..., Any]:
    """Return the class or function of a dotted name.

    Raises:
        ImportError: There is none; the message says which was meant.
    """
    if not re.fullmatch(r"\w+(\.\w+)+", str(path)):
        raise ImportError("write the module and the name, such as my_file.MyClass")
    module, _, name = str(path).rpartition(".")
    try:
        try:
            owner: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module or "." not in module:
                raise
            owner = imported(module)  # a class with this method
        target = getattr(owner, name)
    except AttributeError as error:
        meant = nearest(name, dir(sys.modules.get(module)))
        raise ImportError(f"{error}; did you mean {module}.{meant}?" if meant else str(error)) from error
    if not callable(target):
        raise ImportError("this is no class and no function")
    return target


def bounded(target: Any, bounds: Bounds) -> dict[str, Kind]:
    """Return the arguments of a class or function that have bounds, choices or keys, as `problems` takes them."""
    found = _kinds(target, bounds)
    return {
        name: kind
        for name, kind in found.items()
        if any({*each} & {*BOUNDS} or each["is"] in ("choice", "node") for each in kind)
    }


def _kinds(target: Any, bounds: Bounds) -> dict[str, Kind]:
    """Return what the arguments of a class or function may be: by `bounds` of it or of a base class, or its annotations."""
    found = {name: kind_of(hint) for name, hint in arguments_of(target)[0].items()}
    for path, kinds in bounds.items():
        module, _, name = path.rpartition(".")
        base = getattr(sys.modules.get(module), name, None)
        if target is base or (
            isinstance(target, type) and isinstance(base, type) and issubclass(target, base)
        ):
            found |= {each: kind for each, kind in kinds.items() if each in found}
    return found


def _of_node(
    key: str, node: Mapping[str, Any], kind: Mapping[str, Any], passed: Sequence[str] | None = None
) -> list[str]:
    """Return what is wrong with the names and values of a node that takes, and needs, the keys of a kind."""
    takes, needs = kind["keys"], kind["needs"]
    what, noun = (node["_target_"], "argument") if "_target_" in node else (key or "the configuration", "key")
    found = []
    given = [str(name) for name, value in node.items() if value is not None and str(name)[:1] != "_"]
    if unknown := [] if kind.get("any") else [name for name in given if name not in takes]:
        taken = [name for name in takes if name in node or name not in (passed or ())]
        near = [join(key, meant) for each in unknown if (meant := nearest(each, taken, cutoff=0.5))]
        few = f"it takes {', '.join(taken[:12])}{', …' if taken[12:] else ''};"
        hint = f"did you mean {' '.join(near)}?" if near else few
        keys = [join(key, name) for name in unknown]
        found.append(
            f"{', '.join(keys)}: {what} has no {noun} {', '.join(unknown)}; {hint} "
            f"{' '.join(f'~{each}' for each in keys)} removes what is superfluous"
        )
    lacks = [name for name in needs if name not in (*node, *(passed or ()))]
    if lacks and not (node.get("_partial_") and passed is None):  # what calls it may give them
        more = " ".join(f"+{join(key, name)}=…" for name in lacks)
        found.append(f"{key and key + ': '}{what} needs {', '.join(lacks)}: give {more}")
    defaults = dict.fromkeys(needs, Parameter.empty) | kind.get("defaults", {})
    return found + _of_values(key, node, takes, passed or (), defaults)


def _of_values(
    key: str, node: Mapping[str, Any], kinds: Mapping[str, Kind], passed: Sequence[str], defaults: Mapping[str, Any]
) -> list[str]:  # fmt: skip
    found = []
    for name, kind in ({"_partial_": [{"is": "bool"}]} | dict(kinds)).items():
        value = node.get(name)
        if name not in node or (
            value is None and (name in passed or takes_null(kind, defaults.get(name, True)))
        ):
            continue
        if value is None or not fits(value, kind):
            got = "NaN" if value != value else KINDS.get(type(value), ("", type(value).__name__))[1]  # noqa: PLR0124
            words, shown = in_words(kind), "null" if value is None else f"{value!s:.80}"
            is_told = got in words or (got == "a whole number" and "number" in words)
            found.append(f"{join(key, name)}={shown}: expected {words}{'' if is_told else f', got {got}'}")
        elif isinstance(value, dict) and "_target_" not in value:
            for each in kind:
                found += _of_node(join(key, name), value, each) if each["is"] == "node" else []
    return found
