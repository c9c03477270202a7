"""Numbers as arguments take them: types with bounds, which refuse other values before anything is built."""

from functools import cache
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

from hydra_checked import arguments_of, fits, in_words, kind_of
from seq2seq.common.errors import InputError

Positive = Annotated[int, Ge(1)]
"""A number of things, of which there is one at least."""

NotNegative = Annotated[int, Ge(0)]
"""A number of things that may be none."""

Size = Annotated[int, Ge(1), Le(2**24)]
"""Of a vector."""

Few = Annotated[int, Ge(1), Le(256)]
"""Layers or heads."""

Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
"""Of random numbers."""

Dropout = Annotated[float, Ge(0), Lt(1)]
"""A share that is left out: never all."""

Share = Annotated[float, Ge(0), Le(1)]
"""From none to all."""

Weight = Annotated[float, Ge(0)]
"""Of a part of a sum, or an exponent."""

Rate = Annotated[float, Gt(0)]
"""Of learning."""


Ratio = Annotated[float, Ge(0), Le(10**6)]
"""Of target tokens to source tokens."""


@cache
def _kinds(owner: type) -> dict[str, Any]:
    kinds = {name: kind_of(hint) for name, hint in arguments_of(owner)[0].items()}
    return {name: kind for name, kind in kinds.items() if all(each["is"] != "node" for each in kind)}


def require_bounds(owner: object) -> None:
    """Refuse attributes that the annotations of the arguments of the same names forbid.

    Raises:
        InputError: Naming the argument, its value and what it may be.
    """
    made_of: Any = type(owner)
    for name, kind in _kinds(made_of).items():
        value = getattr(owner, name, None)
        takes = value is not None or any(each["is"] in ("null", "any") for each in kind)
        if hasattr(owner, name) and not (takes and fits(value, kind)):
            raise InputError(f"{made_of.__name__}.{name}={value!r}: expected {in_words(kind)}")
