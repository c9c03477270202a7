"""Types of options, as `seq2seq.cli.parser` reads them: ``Annotated[type, name in the help, what reads the text]``.

What reads the text refuses wrong values, before PyTorch is loaded.
"""

import os
from pathlib import Path
from typing import Annotated, Literal

from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Positive
from seq2seq.data.addresses import is_address, on_disk
from seq2seq.data.folders import config_of, model_path


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


Model = Annotated[str | Path, "MODEL", model]
"""A run folder, a model folder, or the name of a shipped model."""

File = Annotated[str | Path, "FILE", input_file]
"""A file that is read."""

Sentence = Annotated[str, "SENTENCE", sentence]
"""A source sentence."""

Output = Annotated[Path, "FILE", output_file]
"""A file or folder that is written."""

Count = Positive
"""Of what there is one at least."""

Page = Annotated[Path, "FILE", page_file]
"""A page that is written."""

Precision = Literal["fp32", "bf16", "int8"]
"""Of products of matrices."""
