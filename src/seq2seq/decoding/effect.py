"""The effect of each source token on each token of a translation: what leaving the source token out changes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from seq2seq.common.errors import InputError
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END_ID
from seq2seq.data.words import clean
from seq2seq.decoding.forced import force_translate, token_scores
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.models.folder import SavedModel, load_attending
from seq2seq.models.seq2seq import Seq2Seq

BATCH_SIZE = BatchSize(sentences=None, tokens=2048)
"""Of sentences without a token; their logits take the most memory."""


@torch.no_grad()
def leave_one_out(model: Seq2Seq, batch: Batch) -> list[NDArray[np.float64]]:
    """Return by how much each target token depends on each source token, for the pairs of a batch.

    The sentence is encoded again without source token j; the target up to token t is given:

        effect_tj = log p(y_t | x, y_<t) - log p(y_t | x without j, y_<t)

    This is positive if the token supports the word, in nats.

    Args:
        model: The model in evaluation mode.
        batch: Sentence pairs with at least one source token beside ``<eos>``.

    Returns:
        For each pair the effects (T, S), with ``<eos>`` on both sides.

    Raises:
        InputError: A source sentence is empty.
    """
    source = batch.source
    if int(source.lengths.min()) < 2:
        raise InputError("a source sentence is empty: nothing can be left out of it")
    whole, _ = token_scores(model, batch)
    owners, removed = source.is_token.nonzero(as_tuple=True)
    places = torch.arange(source.ids.shape[1] - 1, device=removed.device)
    ids = source.ids[owners.unsqueeze(1), places + (places >= removed.unsqueeze(1))]
    lengths, sizes = source.lengths[owners] - 1, batch.target_lengths[owners]
    scores = whole.new_zeros(len(owners), whole.shape[1])
    for order in sorted_order(lengths.numpy(force=True), sizes.numpy(force=True), BATCH_SIZE):
        rows = torch.from_numpy(order).long().to(removed.device)
        width, height, pairs = int(lengths[rows].max()), int(sizes[rows].max()), owners[rows]
        part = Batch(
            SourceBatch(ids[rows, :width], lengths[rows]),
            batch.target_input[pairs, :height],
            batch.target_output[pairs, :height],
            sizes[rows],
            batch.sentence_ids[pairs],
        )
        scores[rows, :height], _ = token_scores(model, part)
    moved = (whole[owners] - scores).double().split(source.lengths.tolist())
    heights = batch.target_lengths.tolist()
    return [each[:, :height].T.numpy(force=True) for each, height in zip(moved, heights, strict=True)]


def effect_of(saved: SavedModel, sentence: str, found: Translation) -> NDArray[np.float64]:
    """Return by how much each token of a translation depends on each source token (T, S), see `leave_one_out`."""
    source, target = saved.source_tokenizer.encode(sentence), [i for i in found.ids if i != END_ID]
    split = EncodedSplit([], Sentences.from_lists([source]), Sentences.from_lists([target]))
    (effects,) = leave_one_out(saved.model.eval(), Batch.from_split(split, [0]))
    return effects[: len(found.target_tokens)]  # without <eos> where the translation was cut


def attended(
    model: str | Path,
    sentences: Sequence[str],
    target: str | None = None,
    *,
    beam_size: int = 1,
    trust_custom_code: bool = False,
) -> list[tuple[Translation, NDArray[np.float64]]]:
    """Return the translation of each sentence with the effects (T, S), see `effect_of`; or a given target of the only one.

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
        found = force_translate(saved, [pair], device=torch.device("cpu"), batch_size=BATCH_SIZE)
    return [(each, effect_of(saved, text, each)) for text, each in zip(sentences, found, strict=True)]
