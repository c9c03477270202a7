"""The test split again by other searches: a sweep over what a finished model can do."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seq2seq.errors import InputError
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.translations import (
    Translations,
    read_translations,
    translations_path,
    write_translations,
)

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
