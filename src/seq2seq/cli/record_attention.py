"""The command that records attention for TensorBoard."""

from pathlib import Path
from typing import Annotated

from seq2seq.cli.options import Count, File, Model, Step
from seq2seq.common.progress import counted
from seq2seq.export.records import read_pairs, record


def record_attention(
    model: Model,
    *,
    source: File,
    target: File | None = None,
    logdir: Annotated[Path, "FOLDER"],
    step: Step = 0,
    beam_size: Count = 5,
    trust_custom_code: bool = False,
) -> None:
    """Record a model's attention for the Attention tab: ``seq2seq record-attention MODEL --source FILE --logdir DIR``

    Sentence n, counted from 1, is recorded as attention/n, with its greedy and beam translations, and with forced
    decoding of the lines of --target.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        source: Sentences, one a line.
        target: Their translations.
        logdir: Folder of the event file.
        step: The step of the records.
        beam_size: Hypotheses; 1: greedy alone.
        trust_custom_code: Import classes that the model folder names.
    """
    pairs = read_pairs(source, target)
    number = record(
        logdir, Path(model), pairs, step=step, beam_size=beam_size, trust_custom_code=trust_custom_code
    )
    print(f"{counted(number, 'sentence')}   tensorboard --logdir {logdir}")
