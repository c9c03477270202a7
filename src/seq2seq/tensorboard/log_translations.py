"""Records the attention of a finished model: while it translates, and forced to translations."""

from collections.abc import Sequence
from pathlib import Path

import torch

from seq2seq.decoding.device import device_named
from seq2seq.decoding.forced import force_translate
from seq2seq.decoding.model_folder import TranslationModel, load_attending
from seq2seq.decoding.search import GREEDY, search_from_options
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.evaluation.bleu import sentence_bleu_score
from seq2seq.tensorboard.attention_panel import require_recordable
from seq2seq.tensorboard.event_log import event_writer
from seq2seq.tensorboard.records import log_attention, maps_of
from seq2seq.text.bucketing import BatchSize
from seq2seq.text.corpus import SentencePair

_BATCH_SIZE = BatchSize(sentences=None, tokens=4096)

Found = dict[str, list[list[Translation]]]
"""By kind, the translations of each sentence, the best first."""


def log_translations(
    folder: Path, model: Path, pairs: Sequence[SentencePair], *, step: int, beam: int, device: str
) -> int:
    """Record the attention of each sentence that is not blank, in the kinds that training records.

    Sentence n, counted from 1, becomes ``attention/n``. Where it has a target, there is a
    ``forced`` record, and the translations have a BLEU. All hypotheses of the beam are recorded; a
    beam of 1 is greedy search alone.

    Returns:
        The number of sentences recorded.

    Raises:
        InputError: there is no model with attention, no such device or beam, no sentence with text
            or one that is too long, or the folder cannot be written to.
    """
    if beam < 1:
        raise InputError(f"a beam of {beam} follows nothing: give 1 for greedy search, or more")
    if not any(pair.source.strip() for pair in pairs):
        raise InputError("every line of the input is blank: give one sentence a line")
    exported = load_attending(model)
    language = exported.target_codec.tokenizer.language
    found = _found(exported, pairs, beam=beam, device=device_named(device))
    try:
        writer = event_writer(folder)
    except (OSError, UnicodeEncodeError) as error:  # TensorBoard writes to names that are text
        raise InputError(f"{folder} cannot be written to: give another --logdir") from error
    with writer:
        for kind, lists in found.items():
            for number, (pair, translations) in enumerate(zip(pairs, lists, strict=True), start=1):
                for rank, translation in enumerate(filter(_has_tokens, translations)):
                    text = translation.text
                    scored = kind != "forced" and pair.target.strip()
                    log_attention(
                        writer,
                        f"attention/{number}",
                        maps_of(translation),
                        translation.source_tokens,
                        translation.target_tokens,
                        step,
                        kind=kind,
                        rank=rank,
                        score=translation.score,
                        bleu=sentence_bleu_score(text, pair.target, language) if scored else None,
                    )
    return sum(bool(pair.source.strip()) for pair in pairs)


def _has_tokens(translation: Translation) -> bool:
    return bool(translation.source_tokens)


def _found(
    exported: TranslationModel,
    pairs: Sequence[SentencePair],
    *,
    beam: int,
    device: torch.device,
) -> Found:
    for number, pair in enumerate(pairs, start=1):
        require_recordable(
            len(exported.source_codec.encode(pair.source)),
            len(exported.target_codec.encode(pair.target)),
            f"line {number}",
            exported.bounds,
        )
    translator = Translator(exported, device=device, batch_size=_BATCH_SIZE)
    sources = [pair.source for pair in pairs]
    forced = force_translate(exported, pairs, device=device, batch_size=_BATCH_SIZE)
    found = {
        "forced": [[each] for each in forced],
        "greedy": translator.translate_n_best(sources, search=GREEDY),
    }
    if beam > 1:
        search = search_from_options(beam=beam, num_best=beam, length_penalty="average")
        found["beam"] = translator.translate_n_best(sources, search=search)
    return found
