"""Checks of shapes and types while the tests run, at a bearable price.

A recurrence calls the same functions thousands of times, and a check takes longer than a call.
"""

from collections import Counter
from functools import wraps
from inspect import isfunction

from jaxtyping import jaxtyped

FIRST = 20
ONE_IN = 50
"""So many calls of each function are checked in each test, and after them one in so many."""

CALLS = Counter()


def checked_at_first(*, typechecker):
    """What the import hook decorates with, in place of `jaxtyping.jaxtyped`."""

    def decorated(part):
        checked = jaxtyped(part, typechecker=typechecker)
        if not isfunction(part):
            return checked

        @wraps(part)
        def called(*args, **kwargs):
            CALLS[part] += 1
            wanted = CALLS[part] <= FIRST or CALLS[part] % ONE_IN == 0
            return (checked if wanted else part)(*args, **kwargs)

        return called

    return decorated
