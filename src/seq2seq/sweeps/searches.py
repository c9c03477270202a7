"""What finished models do with the test split again: by other searches, with other attention."""

import itertools
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from seq2seq.errors import InputError
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.translations import (
    Translations,
    read_translations,
    translations_path,
    write_translations,
)
from seq2seq.plain_text import one_line
from seq2seq.storage.typed_json import read_json
from seq2seq.storage.writing import write_file

Options = dict[str, Any]
"""Of a search, as `search_from_options` takes them, such as ``beam`` and ``length_penalty``."""


def every(searches: Mapping[str, Sequence[Any]]) -> Iterator[Options]:
    """All combinations of values."""
    for values in itertools.product(*searches.values()):
        yield dict(zip(searches, values, strict=True))


def searched(run: Run, options: Options) -> Translations:
    """The test translations of a run by a search, made once and kept beside the others.

    Raises:
        InputError: the run has no test translations or no model, or an option is wrong.
    """
    given = run.translations("test")
    if given is None:
        raise InputError(f"{run.folder} has no translations of a test split")
    name = ",".join(f"{key}={value}" for key, value in sorted(options.items()))
    path = translations_path(run.folder, f"test,{name}")
    if path.exists():
        found = read_translations(path)
        if found.text == given.text:
            return found
    found = Translations(given.sources, given.references, _translated(run, given, options))
    write_translations(path, found)
    return found


class _Probed(Struct):
    """What ``probe-attention --json`` prints: of all words, the share that stays by change."""

    all: dict[str, float | None]


def probed(run: Run) -> dict[str, float | None]:
    """Shares of a model's own words that stay with other attention weights, found once and kept.

    Raises:
        InputError: the run has no model with attention.
    """
    path = run.folder / "probed.json"
    if not path.exists():
        command = [sys.executable, "-P", "-m", "seq2seq.commands", "probe-attention", "--json"]
        done = subprocess.run(
            [*command, str(run.folder)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise InputError(f"{run.folder} cannot be probed: {one_line(done.stderr.strip())}")
        write_file(path, done.stdout)
    refusal, remedy = "is no result of probe-attention", "remove it"
    return read_json(path, _Probed, version=1, refusal=refusal, remedy=remedy).all


def _translated(run: Run, given: Translations, options: Options) -> list[str]:
    from seq2seq.decoding.search import search_from_options  # noqa: PLC0415 - torch
    from seq2seq.decoding.translator import Translator  # noqa: PLC0415

    try:
        search = search_from_options(**options)
    except TypeError as error:
        raise InputError(f"a search has no options {options}: {error}") from error
    translator = Translator.load(run.folder, device="cpu")
    found = translator.translate(given.sources, search=search, return_attention=False)
    return [each.text for each in found]
