"""Forced decoding: score and attention of a given translation, and the weights of every head."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from joined_words import clean
from seq2seq.attention.masking import at_least_float32
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.languages import require_tags
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END
from seq2seq.decoding.greedy import check_numbers
from seq2seq.decoding.hypothesis import Hypothesis, Models
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.models.decoder import num_heads
from seq2seq.models.folder import SavedModel, load_attending
from seq2seq.models.seq2seq import Seq2Seq


@torch.no_grad()
def token_scores(model: Seq2Seq, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """Return the natural log-probability of each target token given the tokens before it, by one teacher-forced pass.

    Returns:
        Log-probabilities (B, T), 0 at padding, and attention weights (B, T, h, S); None without attention.
    """
    is_token = batch.target_is_token
    features, weights = model(batch)
    logits = at_least_float32(model.decoder.output(features[is_token]))
    chosen = logits.log_softmax(dim=-1).gather(1, batch.target_output[is_token].unsqueeze(1)).squeeze(1)
    return chosen.new_zeros(is_token.shape).masked_scatter(is_token, chosen), weights


def force_decode(model: Seq2Seq, batch: Batch) -> list[Hypothesis]:
    """Return the targets of a batch as hypotheses, by one teacher-forced pass.

    A hypothesis has the target tokens and ``<eos>``, their natural log-probability given the source, and the
    attention at each of them: the result of a search that finds this translation.
    """
    chosen, weights = token_scores(model, batch)
    scores = chosen.sum(dim=1)
    weights = chosen.new_zeros(*chosen.shape, 1, 0) if weights is None else weights
    sides = batch.target_output, batch.target_lengths, batch.source.lengths, scores
    hypotheses, layers = [], getattr(model.decoder, "attention_layers", 1)
    for ids, height, width, score, maps in zip(
        *(side.tolist() for side in sides), weights.cpu(), strict=True
    ):
        heads = maps[:height, :, :width].transpose(0, 1)  # (L h, T, S)
        of_layers = heads.unflatten(0, (layers, -1)).squeeze(0) if len(heads) > 1 else None
        hypotheses.append(Hypothesis(tuple(ids[:height]), score, heads.mean(dim=0), of_layers))
    return hypotheses


def force_translate(
    exported: SavedModel, pairs: Sequence[SentencePair], *, device: torch.device, batch_size: BatchSize
) -> list[Translation]:
    """Return given translations with their scores and attention, in the given order.

    If a side of a pair is blank, the translation is `EMPTY`.

    Raises:
        InputError: The model has several target languages, and a source sentence names none.
    """
    model = exported.model.to(device).eval()
    filled = [place for place, pair in enumerate(pairs) if clean(pair.source) and clean(pair.target)]
    kept = [pairs[place] for place in filled]
    sources, target = [clean(pair.source) for pair in kept], exported.target_tokenizer
    require_tags(sources, exported.source_tokenizer.vocabulary, target.language)
    split = EncodedSplit(
        kept,
        Sentences.from_lists(exported.source_tokenizer.encode_all(sources)),
        Sentences.from_lists(target.encode_all([pair.target for pair in kept])),
    )
    translations = [EMPTY] * len(pairs)
    for indices in sorted_order(split.source.lengths, split.target.lengths, batch_size):
        batch = Batch.from_split(split, indices.tolist()).to(device)
        hypotheses = force_decode(model, batch)
        check_numbers(torch.tensor([hypothesis.score for hypothesis in hypotheses]))
        for index, hypothesis in zip(indices.tolist(), hypotheses, strict=True):
            translations[filled[index]] = Translation(
                text=split.pairs[index].target,
                source_tokens=(*exported.source_tokenizer.words(split.source[index]), END),
                target_tokens=tuple(target.words(hypothesis.ids)),
                ids=tuple(hypothesis.ids),
                score=hypothesis.score,
                weights=hypothesis.weights,
                heads=hypothesis.heads,
                unknown=(
                    *exported.source_tokenizer.unknown(split.pairs[index].source),
                    *target.unknown(split.pairs[index].target),
                ),
            )
    return translations


def with_heads(
    models: Models, source: SourceBatch, found: Sequence[Sequence[Hypothesis]]
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence of a batch, with the weights of every head.

    One more pass with forced decoding computes them. Hypotheses of an ensemble, and of a model without
    several heads, are returned unchanged.
    """
    first, *others = [models] if isinstance(models, Seq2Seq) else models
    if others or num_heads(first.decoder) < 2:
        return [list(hypotheses) for hypotheses in found]
    rows = [row for row, hypotheses in enumerate(found) for _ in hypotheses]
    sources = [source.ids[row, : source.lengths[row] - 1].tolist() for row in rows]
    targets = [hypothesis.ids[:-1] for hypotheses in found for hypothesis in hypotheses]
    split = EncodedSplit([], Sentences.from_lists(sources), Sentences.from_lists(targets))
    forced = iter(force_decode(first, Batch.from_split(split, range(len(rows))).to(source.ids.device)))
    return [
        [replace(hypothesis, heads=next(forced).heads) for hypothesis in hypotheses] for hypotheses in found
    ]


def weights_of(found: Translation | Hypothesis, most: int) -> npt.NDArray[np.float32]:
    """Return the weights of all heads, see `Hypothesis`, or their mean (target, source) if these are more than `most`."""
    heads = found.heads
    return (found.weights if heads is None or heads.numel() > most else heads).float().numpy()


def force_pairs(
    folder: str | Path, pairs: Sequence[SentencePair], *, trust_custom_code: bool = False
) -> list[Translation]:
    """Return given translations with their scores and attention, computed by the model of a folder."""
    size = BatchSize(sentences=None, tokens=4096)
    saved = load_attending(folder, trust_custom_code=trust_custom_code)
    return force_translate(saved, pairs, device=torch.device("cpu"), batch_size=size)
