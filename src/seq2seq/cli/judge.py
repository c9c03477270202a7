"""The command that judges whether a change is an improvement, from the results of any program."""

import sys
from functools import wraps
from typing import Any

from judged_seeds import ResultError, compare_results
from seq2seq.common.errors import InputError


@wraps(compare_results)
def judge(*given: Any, **options: Any) -> None:  # noqa: D103 - that of the package
    try:
        sys.exit(compare_results(*given, **options))
    except ResultError as error:
        raise InputError(str(error)) from error
