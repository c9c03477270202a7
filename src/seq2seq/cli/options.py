"""Types of options, as `seq2seq.cli.parser` reads them: ``Annotated[type, name in the help, what reads the text]``.

What reads the text refuses wrong values, before PyTorch is loaded.
"""

import os
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Literal, get_args

from seq2seq.common.errors import InputError
from seq2seq.common.files import is_address, on_disk
from seq2seq.common.shipped import config_of, model_path


def model(text: str) -> Path:
    """Return the folder of a model, which exists."""
    config_of(text)
    return model_path(text)


def input_file(text: str) -> Path:
    """Return the path of a file, which exists; of an address, that of a copy."""
    if is_address(text):
        return Path(on_disk(text))
    if not Path(text).exists():
        raise InputError(f"{text}: there is no such file")
    if Path(text).is_dir():
        raise InputError(f"{text} is a folder: give a file")
    return Path(text)


def sentence(text: str) -> str:
    """Return a sentence, which is not the name of a file."""
    if os.path.isfile(text):
        raise InputError(
            f"{text} is a file, not a sentence: give one of its lines, or seq2seq translate MODEL --source {text}"
        )
    return text


def output_file(text: str) -> Path:
    """Return the path of a file or folder to write, whose folder exists."""
    if not Path(text).parent.is_dir():
        raise InputError(f"{text}: there is no folder {Path(text).parent}")
    return Path(text)


def page_file(text: str) -> Path:
    """Return the path of a page to write, whose folder exists; an ending other than that of pages is refused."""
    if Path(text).suffix.lower() not in (".html", ".htm", ""):
        raise InputError(f"{text}: a page is written there: give a name that ends in .html")
    return output_file(text)


def count(text: str) -> int:
    """Return a whole number above 0.

    Raises:
        ValueError: It is none.
    """
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{text}: a whole number above 0 is needed")
    return int(text)


def step(text: str) -> int:
    """Return a step, as event files hold it.

    Raises:
        ValueError: It is none.
    """
    if not (text.isdecimal() and int(text) < 2**63):
        raise ValueError(f"{text}: a whole number from 0 to {2**63 - 1} is needed")
    return int(text)


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


Model = Annotated[str | Path, "MODEL", model]
"""A run folder, a model folder, or the name of a shipped model."""

File = Annotated[str | Path, "FILE", input_file]
"""A file that is read."""

Sentence = Annotated[str, "SENTENCE", sentence]
"""A source sentence."""

Output = Annotated[Path, "FILE", output_file]
"""A file or folder that is written."""

Count = Annotated[int, "N", count]
"""A whole number above 0."""

Step = Annotated[int, "N", step]
"""A step of a training."""

Page = Annotated[Path, "FILE", page_file]
"""A page that is written."""

Precision = Literal["fp32", "bf16", "int8"]
"""Of products of matrices."""

LengthPenalty = Literal["none", "average", "gnmt"]
"""See `seq2seq.decoding.search.LengthPenalty`."""

PENALTIES: tuple[str, ...] = get_args(LengthPenalty)
"""Their names."""

MAX_BEAM = 100_000
"""Maximum size of a beam."""

AlignmentMethod = Literal["agreement", "argmax", "threshold", "intersection", "union"]
"""How links are made of attention."""
