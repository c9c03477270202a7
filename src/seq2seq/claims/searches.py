"""What finished models do with the test split again: by other searches, with other attention."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from seq2seq.errors import InputError
from seq2seq.evaluation.faithfulness import faithfulness
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.translations import (
    Translations,
    read_translations,
    translations_path,
    write_translations,
)
from seq2seq.storage.typed_json import encoded, read_json
from seq2seq.storage.writing import inside, write_file

NUM_PROBED = 500
"""Test sentences, the first, whose translations are probed."""

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
    given = _given(run)
    name = ",".join(f"{key}={value}" for key, value in sorted(options.items()))
    path = translations_path(run.folder, f"test,{name}")
    if path.exists():
        found = read_translations(path)
        if found.text == given.text:
            return found
    inside(run.folder, path.parent.name)
    found = Translations(given.sources, given.references, _translated(run, given, options))
    write_translations(path, found)
    return found


class _Probed(Struct):
    """Of all words, the share that stays by change."""

    all: dict[str, float | None]


def probed(run: Run) -> dict[str, float | None]:
    """Shares of a model's own words that stay with other attention weights, found once and kept.

    Raises:
        InputError: the run has no test translations, or no model with attention.
    """
    path = run.folder / "probed.json"
    if not path.exists():
        write_file(path, encoded(_Probed(_stays(run))))
    refusal, remedy = "is no result of probing", "remove it"
    return read_json(path, _Probed, version=1, refusal=refusal, remedy=remedy).all


def _stays(run: Run) -> dict[str, float | None]:
    import torch  # noqa: PLC0415 - late

    from seq2seq.decoding.model_folder import load_attending  # noqa: PLC0415
    from seq2seq.decoding.probing import probe  # noqa: PLC0415

    sentences, exported = _given(run).sources[:NUM_PROBED], load_attending(run.folder)
    return faithfulness(probe(exported, sentences, seed=1, device=torch.device("cpu")), None)["all"]


def _given(run: Run) -> Translations:
    given = run.translations("test")
    if given is None:
        raise InputError(f"{run.folder} has no translations of a test split")
    return given


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
