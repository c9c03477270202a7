"""Numbers as arguments take them: types with bounds, which refuse other values before anything is built."""

from numbers import Integral, Real
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

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


def require_numbers(**values: object) -> None:
    """Refuse values that are no numbers, such as text; None is left out.

    Raises:
        InputError: A value is none.
    """
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise InputError(f"{name.replace('_', ' ')} {value!r}: give a number")


def require_counts(**values: object) -> None:
    """Refuse values that are no whole numbers above 0; None is left out.

    Raises:
        InputError: A value is none.
    """
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
            raise InputError(f"{name.replace('_', ' ')} {value!r}: give a whole number above 0")
