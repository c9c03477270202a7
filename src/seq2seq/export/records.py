"""The attention of a translation as a page, and as a notebook shows it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.common.errors import InputError
from seq2seq.data.folders import model_name

if TYPE_CHECKING:
    from seq2seq.decoding.translation import Translation


def recorded_page(run: Path) -> str:
    """Return the Attention tab as one page, with the records of a run.

    Raises:
        InputError: There is no such folder, or it has no records.
    """
    from tensorboard_attention import export_html

    if not run.is_dir():
        raise InputError(f"{run}: there is no such folder; give a run folder")
    try:
        return export_html(run)
    except ValueError as error:
        raise InputError(str(error)) from error


def translation_page(
    model: str | Path, sentence: str, target: str | None, beam_size: int, *, trust_custom_code: bool
) -> "tuple[Translation, str]":
    """Return the translation of a sentence, or a given target, and a page with its attention and effects, see `attended`."""
    from seq2seq.decoding.effect import attended

    ((found, effect),) = attended(
        model, [sentence], target, beam_size=beam_size, trust_custom_code=trust_custom_code
    )
    kind = "forced" if target is not None else "beam search" if beam_size > 1 else "greedy search"
    return found, shown(found, model, kind=kind, effect=effect).page


def shown(found: "Translation", model: str | Path, **options: Any) -> Any:
    """Return the attention of a translation by a model as a notebook shows it; options see `tensorboard_attention.show`."""
    from tensorboard_attention import show

    weights, title = (
        found.weights if found.heads is None else found.heads,
        f"Attention of {model_name(model)}",
    )
    return show(weights, found.source_tokens, found.target_tokens, score=found.score, title=title, **options)
