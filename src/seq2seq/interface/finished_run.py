"""A finished run, and its translations, which show their attention in a notebook."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import InputError
from seq2seq.runs.run_record import finished_scores

if TYPE_CHECKING:
    from seq2seq.decoding.translation import Translation
    from seq2seq.decoding.translator import Translator


class FinishedRun:
    """A run: what it has scored, and its model.

    Attributes:
        folder: of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: scores by split, then facts of the run.

        Raises:
            InputError: the run is not finished.
        """
        found = finished_scores(self.folder)
        if found is None:
            raise InputError(f"{self.folder} holds no finished run")
        return found

    @cached_property
    def translator(self) -> "Translator":
        """Text in, translations out, which show their attention in a notebook.

        Raises:
            InputError: there is no model.
        """
        from seq2seq.interface.shown_translation import ShowingTranslator  # noqa: PLC0415 - torch

        return ShowingTranslator.load(self.folder)

    def attention(
        self, sentence: str, target: str | None = None, *, beam: int = 5
    ) -> "Translation":
        """Where the model looks while it translates a sentence, or writes a translation given.

        Raises:
            InputError: there is no model, or none with attention that could be forced.
        """
        if target is None:
            return self.translator.translate([sentence], beam=beam)[0]
        from seq2seq.interface.shown_translation import forced  # noqa: PLC0415 - torch

        return forced(self.folder, sentence, target)
