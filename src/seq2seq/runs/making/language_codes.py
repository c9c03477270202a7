"""Codes of languages, as a configuration names them."""

import re

from seq2seq.config import DataConfig
from seq2seq.errors import InputError
from seq2seq.text.languages import LETTERS, nearest_language

LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*")


def require_language_codes(data: DataConfig) -> None:
    """Refuse what is no language code, such as a language's name.

    Raises:
        InputError: naming the key.
    """
    for key in ("source_language", "target_language"):
        code = getattr(data, key)
        if not LANGUAGE_CODE.fullmatch(code):
            raise InputError(
                f"data.{key}={code} is no language code{nearest_language(code, LETTERS)}; "
                "write it as in en, de or pt-BR"
            )
