"""Records the attention of a finished model while it translates."""

from collections.abc import Sequence
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.tensorboard.records import log_attention


def log_translations(folder: Path, model: Path, lines: Sequence[str], *, step: int) -> int:
    """Translate lines and record the attention of each that is not blank.

    Args:
        folder: where the event file goes.
        model: a run folder or a model folder.
        lines: source sentences; line n becomes the sentence ``attention/n``, counted from 1.
        step: of the records.

    Returns:
        The number of sentences recorded.

    Raises:
        InputError: there is no model, no line with text, or the folder cannot be written to.
    """
    translations = Translator.load(model).translate(lines)
    filled = [(number, t) for number, t in enumerate(translations, start=1) if t.source_tokens]
    if not filled:
        raise InputError("every line of the input is blank: give one sentence a line")
    try:
        writer = SummaryWriter(str(folder))
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: give another --logdir") from error
    with writer:
        for number, translation in filled:
            log_attention(
                writer,
                f"attention/{number}",
                translation.weights,
                translation.source_tokens,
                translation.target_tokens,
                step,
                kind="greedy",
                score=translation.score,
            )
    return len(filled)
