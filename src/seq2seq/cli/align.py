"""The command that aligns the words of two files."""

import sys
from typing import Annotated, Any

from seq2seq.cli.api import Run
from seq2seq.cli.options import Model


def align(model: Model, *, trust_custom_code: bool = False, **options: Annotated[Any, Run.align]) -> None:
    """Align words: ``seq2seq align MODEL --source FILE --target FILE > links.txt``

    Prints a line of links SOURCE-TARGET for each pair (Pharaoh format). Words are separated by white space and
    counted from 0; in Chinese and Japanese each letter is one. Each target word is linked to the source word that it attends
    to most in forced decoding. With --gold the alignment error rate is printed to standard error.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        trust_custom_code: Import classes that the model folder names.
        **options: Those of `Run.align`.
    """
    found = Run(model, trust_custom_code=trust_custom_code).align(**options)
    print(found, flush=True)
    if report := found.report():
        print(report, file=sys.stderr)
