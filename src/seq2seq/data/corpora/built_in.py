"""Where the built-in corpora are, and the languages that they have."""

from pathlib import Path

from seq2seq.common.errors import InputError
from seq2seq.data.languages import base_language


def built_in(name: str) -> Path:
    """Return the file of a built-in corpus: inside the installed package, else in the clone."""
    folders = Path(__file__).parents[1], Path(__file__).parents[4] / "data"
    files = [folder / name / "corpus.tsv.xz" for folder in folders]
    return next((path for path in files if path.is_file()), files[0])


def require_languages(data: str, given: tuple[str, str], own: tuple[str, str] = ("en", "fr")) -> None:
    """Raise InputError where the languages of a built-in corpus are set to others; `data` is the corpus's name."""
    named = [base_language(each if each != "und" else mine) for each, mine in zip(given, own, strict=True)]
    if named != [base_language(each) for each in own]:
        raise InputError(
            f"data={data} translates {own[0]} into {own[1]}, not {given[0]} into {given[1]}: leave out "
            "data.source_language and data.target_language, or choose another corpus"
        )
