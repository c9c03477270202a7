"""The help of LibreOffice in English and another language, as ``scripts/get_libreoffice.py`` extracts it."""

from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.data.corpora.split_file import SplitFile
from seq2seq.data.text import SentencePair


class LibreOfficeHelp(SplitFile):
    """Paragraphs of the help of LibreOffice (MPL-2.0), held out by page.

    No page is in two splits, and no sentence that differs only in case, digits or punctuation.

    Args:
        root: Folder of the files of ``scripts/get_libreoffice.py``: tab-separated split, page, English, translation.
        source_language: Language code; one of the two is ``en``.
        target_language: The same for the target.
        **options: Arguments of `SplitFile`, without `file`.
    """

    columns = ["page", "English", "translation"]  # noqa: RUF012 - read only

    def __init__(
        self,
        *,
        root: str = "data/cache/libreoffice",
        source_language: str = "und",
        target_language: str = "und",
        **options: Any,
    ) -> None:
        if (source_language == "en") == (target_language == "en"):
            raise InputError("data.source_language or data.target_language is en, the other one is not")
        self.other = source_language if target_language == "en" else target_language
        file = Path(root) / f"en-{self.other.lower()}.tsv"
        super().__init__(
            file=file, source_language=source_language, target_language=target_language, **options
        )

    def prepare_data(self) -> None:
        """Check that the file exists."""
        if not Path(self.file).is_file():
            raise InputError(
                f"{self.file}: there is no such file; make it with: python scripts/get_libreoffice.py {self.other}, a script of the repository"
            )

    def pair(self, cells: list[str], place: str) -> SentencePair:
        """Return the pair in its direction."""
        del place
        _, english, other = cells
        return SentencePair(*((other, english) if self.target_language == "en" else (english, other)))
