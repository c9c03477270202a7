"""Forced decoding: the score and the attention of a translation that is given."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.decoding.heads import with_heads
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.model_folder import TranslationModel
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.model.precision import at_least_float32
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import BatchSize, sorted_order
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import encode_split
from seq2seq.text.vocabulary import END


@torch.no_grad()
def force_decode(model: Seq2Seq, batch: Batch) -> list[Hypothesis]:
    """The targets of a batch as hypotheses, by one teacher-forced pass.

    ids are the target tokens and ``<eos>``, score their natural log-probability given the source,
    weights the attention at each of them: what a search that finds this translation returns.
    """
    source, is_token = batch.source, batch.target_is_token
    unrolled = model(
        source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths
    )
    logits = model.decoder.output(unrolled.features[is_token])
    log_probabilities = at_least_float32(logits).log_softmax(dim=-1)
    chosen = log_probabilities.gather(1, batch.target_output[is_token].unsqueeze(1)).squeeze(1)
    scores = chosen.new_zeros(is_token.shape).masked_scatter(is_token, chosen).sum(dim=1)
    weights = chosen.new_zeros(*is_token.shape, 0) if unrolled.weights is None else unrolled.weights
    return _hypotheses(batch, scores, weights.cpu())


def _hypotheses(batch: Batch, scores: Tensor, weights: Tensor) -> list[Hypothesis]:
    columns = zip(
        batch.target_output.tolist(),
        batch.target_lengths.tolist(),
        batch.source.lengths.tolist(),
        scores.tolist(),
        weights,
        strict=True,
    )
    return [
        Hypothesis(tuple(ids[:rows]), score, matrix[:rows, :width])
        for ids, rows, width, score, matrix in columns
    ]


def force_translate(
    exported: TranslationModel,
    pairs: Sequence[SentencePair],
    *,
    device: torch.device,
    batch_size: BatchSize,
) -> list[Translation]:
    """Given translations with their scores and attention, in order.

    Where a side is blank there is nothing to score, and the translation is `EMPTY`.
    """
    model = exported.model.to(device).eval()
    filled = [
        place for place, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()
    ]
    split = encode_split(
        [pairs[place] for place in filled],
        (exported.source_codec, exported.target_codec),
        max_length=None,
        truncate=False,
    )
    translations = [EMPTY] * len(pairs)
    for indices in sorted_order(split.source.lengths, split.target.lengths, batch_size):
        batch = Batch.from_split(split, indices.tolist()).to(device)
        found = with_heads(model, batch.source, [[each] for each in force_decode(model, batch)])
        for index, (hypothesis,) in zip(indices.tolist(), found, strict=True):
            translations[filled[index]] = Translation(
                text=split.pairs[index].target,
                source_tokens=(*exported.source_codec.vocabulary.words(split.source[index]), END),
                target_tokens=tuple(exported.target_codec.vocabulary.words(hypothesis.ids)),
                score=hypothesis.score,
                weights=hypothesis.weights,
                heads=hypothesis.heads,
                unknown=tuple(exported.source_codec.unknown(split.pairs[index].source)),
            )
    return translations
