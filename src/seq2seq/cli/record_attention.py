"""The command that records attention for TensorBoard."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from seq2seq.common.counted import counted
from seq2seq.common.options import Count, File, Model
from seq2seq.common.progress import announce
from seq2seq.data.text import SentencePair, read_lines, read_parallel
from seq2seq.data.words import clean
from seq2seq.errors import InputError


def record_attention(
    model: Model,
    *,
    source: File,
    target: File | None = None,
    logdir: Annotated[Path, "FOLDER"],
    step: int = 0,
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


def read_pairs(source: str | Path, target: str | Path | None) -> list[SentencePair]:
    """Read sentences, and their translations where there is a file of them."""
    if target is not None:
        return read_parallel(source, target)
    return [SentencePair(line, "") for line in read_lines(source)]


def record(
    logdir: Path,
    model: Path,
    pairs: Sequence[SentencePair],
    *,
    step: int,
    beam_size: int,
    trust_custom_code: bool = False,
) -> int:
    """Record the attention of each sentence that is not blank; return their number.

    Raises:
        InputError: There is no model with attention, or no sentence with text.
    """
    if not any(clean(pair.source) for pair in pairs):
        raise InputError("every line of the input is blank: give one sentence a line")

    announce("loading PyTorch and the model")
    from torch.utils.tensorboard import SummaryWriter

    from seq2seq.decoding.forced import force_pairs
    from seq2seq.decoding.search import GREEDY, search_from_options
    from seq2seq.decoding.translation import weights_of
    from seq2seq.decoding.translator import Translator
    from seq2seq.evaluation.bleu import sentence_bleu_score
    from seq2seq.models.folder import load_attending
    from tensorboard_attention import MAX_WEIGHTS, add_attention

    announce(f"translating {counted(len(pairs), 'sentence')}")
    translator = Translator(load_attending(model, trust_custom_code=trust_custom_code))
    sources = [pair.source for pair in pairs]
    found = {
        "forced": [[each] for each in force_pairs(model, pairs, trust_custom_code=trust_custom_code)],
        "greedy": translator.translate_n_best(sources, search=GREEDY),
    }
    if beam_size > 1:
        search = search_from_options(beam_size=beam_size, num_best=beam_size, length_penalty="average")
        found["beam"] = translator.translate_n_best(sources, search=search)
    with SummaryWriter(str(logdir)) as writer:
        for kind, lists in found.items():
            for number, (pair, translations) in enumerate(zip(pairs, lists, strict=True), start=1):
                for rank, each in enumerate(t for t in translations if t.source_tokens):
                    bleu = None
                    if kind != "forced" and clean(pair.target):
                        bleu = sentence_bleu_score(each.text, pair.target, translator.target_language)
                    add_attention(
                        writer,
                        f"attention/{number}",
                        weights_of(each, MAX_WEIGHTS),
                        each.source_tokens,
                        each.target_tokens,
                        step,
                        reference=pair.target if kind != "forced" and clean(pair.target) else None,
                        score=each.score,
                        kind=kind,
                        rank=rank,
                        bleu=bleu,
                    )
    return sum(bool(clean(pair.source)) for pair in pairs)
