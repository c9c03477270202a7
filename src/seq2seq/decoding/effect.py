"""What leaving tokens of the source out changes: what `tensorboard_attention.leave_one_out` asks of this program's models."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from joined_words import clean
from seq2seq.common.errors import InputError
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END_ID, PADDING_ID
from seq2seq.decoding.forced import force_translate, token_scores
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.models.folder import SavedModel, load_attending
from seq2seq.models.seq2seq import Seq2Seq

TOKENS = 2048
"""Of a batch of sentences without a token; their logits take the most memory."""


def log_probabilities(model: Seq2Seq, batch: Batch, place: int, is_kept: NDArray[np.bool_]) -> Tensor:
    """Return the natural log-probability of each target token of a pair, given the target before it and parts of the source.

    Args:
        model: The model in evaluation mode.
        batch: Sentence pairs.
        place: Of the pair in the batch.
        is_kept: What each part keeps of the source (N, S), ``<eos>`` included.

    Returns:
        A row for each part (N, T), with ``<eos>``.

    Raises:
        InputError: A part is empty, as of an empty source.
    """
    width, height = int(batch.source.lengths[place]), int(batch.target_lengths[place])
    source, kept = batch.source.ids[place, :width], torch.from_numpy(is_kept).to(batch.source.ids.device)
    if not kept.any(dim=1).all():
        raise InputError("a source sentence is empty: nothing can be left out of it")
    scores = []
    for rows in kept.split(max(1, TOKENS // (width + height))):
        ids = pad_sequence([source[row] for row in rows], batch_first=True, padding_value=PADDING_ID)
        part = Batch(
            SourceBatch(ids, rows.sum(dim=1)),
            batch.target_input[place, :height].expand(len(rows), -1),
            batch.target_output[place, :height].expand(len(rows), -1),
            batch.target_lengths[place].expand(len(rows)),
            batch.sentence_ids[place].expand(len(rows)),
        )
        scores.append(token_scores(model, part)[0])
    return torch.cat(scores)


def asked_of(saved: SavedModel, sentence: str, found: Translation) -> Callable[[NDArray[np.bool_]], Tensor]:
    """Return `log_probabilities` of the tokens of a translation, for parts of its source."""
    source, target = saved.source_tokenizer.encode(sentence), [i for i in found.ids if i != END_ID]
    split = EncodedSplit([], Sentences.from_lists([source]), Sentences.from_lists([target]))
    model, batch = saved.model.eval(), Batch.from_split(split, [0])
    height = len(found.target_tokens)  # without <eos> where the translation was cut
    return lambda is_kept: log_probabilities(model, batch, 0, is_kept)[:, :height]


def attended(
    model: str | Path,
    sentences: Sequence[str],
    target: str | None = None,
    *,
    beam_size: int = 1,
    trust_custom_code: bool = False,
) -> list[tuple[Translation, Callable[[NDArray[np.bool_]], Tensor]]]:
    """Return the translation of each sentence, or a given target of the only one, with what its effects are computed by.

    See `asked_of`, and `tensorboard_attention.leave_one_out`.

    Raises:
        InputError: There is no such model with attention, or a text is blank.
    """
    if not all(map(clean, sentences)):
        raise InputError("the sentence is blank: give a sentence")
    if target is not None and not clean(target):
        raise InputError("--target is blank: give a translation of the sentence, or leave it out")
    saved = load_attending(model, trust_custom_code=trust_custom_code)
    if target is None:
        found = Translator(saved).translate(sentences, beam_size=beam_size)
    else:
        pair = SentencePair(sentences[0], target)
        found = force_translate(saved, [pair], device=torch.device("cpu"), batch_size=BatchSize(None, TOKENS))
    return [(each, asked_of(saved, text, each)) for text, each in zip(sentences, found, strict=True)]
