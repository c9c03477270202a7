"""Forced decoding: score and attention of a given translation, and the weights of every head."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seq2seq.attention import MultiHeadAttention
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import BEGIN_ID, END
from seq2seq.decoding.stepper import Hypothesis, Models, check_numbers
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.export.model_folder import SavedModel, load_attending
from seq2seq.models.seq2seq import Seq2Seq


@torch.no_grad()
def force_decode(model: Seq2Seq, batch: Batch) -> list[Hypothesis]:
    """Return the targets of a batch as hypotheses, by one teacher-forced pass.

    A hypothesis has the target tokens and ``<eos>``, their natural log-probability given the source, and the
    attention at each of them: the result of a search that finds this translation.
    """
    is_token = batch.target_is_token
    features, weights = model(batch)
    logits = model.decoder.output(features[is_token])
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
    chosen = log_probabilities.gather(1, batch.target_output[is_token].unsqueeze(1)).squeeze(1)
    scores = chosen.new_zeros(is_token.shape).masked_scatter(is_token, chosen).sum(dim=1)
    weights = chosen.new_zeros(*is_token.shape, 0) if weights is None else weights
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
    exported: SavedModel, pairs: Sequence[SentencePair], *, device: torch.device, batch_size: BatchSize
) -> list[Translation]:
    """Return given translations with their scores and attention, in the given order.

    If a side of a pair is blank, the translation is `EMPTY`.
    """
    model = exported.model.to(device).eval()
    filled = [place for place, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
    kept = [pairs[place] for place in filled]
    split = EncodedSplit(
        kept,
        Sentences.from_lists(exported.source_tokenizer.encode_all([pair.source for pair in kept])),
        Sentences.from_lists(exported.target_tokenizer.encode_all([pair.target for pair in kept])),
    )
    translations = [EMPTY] * len(pairs)
    for indices in sorted_order(split.source.lengths, split.target.lengths, batch_size):
        batch = Batch.from_split(split, indices.tolist()).to(device)
        hypotheses = force_decode(model, batch)
        check_numbers(torch.tensor([each.score for each in hypotheses]))
        found = with_heads(model, batch.source, [[each] for each in hypotheses])
        for index, (hypothesis,) in zip(indices.tolist(), found, strict=True):
            translations[filled[index]] = Translation(
                text=split.pairs[index].target,
                source_tokens=(*exported.source_tokenizer.words(split.source[index]), END),
                target_tokens=tuple(exported.target_tokenizer.words(hypothesis.ids)),
                score=hypothesis.score,
                weights=hypothesis.weights,
                heads=hypothesis.heads,
                unknown=tuple(exported.source_tokenizer.unknown(split.pairs[index].source)),
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
    attention = getattr(first.decoder, "attention", None)
    if others or not isinstance(attention, MultiHeadAttention):
        return [list(hypotheses) for hypotheses in found]
    counts = torch.tensor([len(hypotheses) for hypotheses in found], device=source.ids.device)
    rows = SourceBatch(source.ids.repeat_interleave(counts, dim=0), source.lengths.repeat_interleave(counts))
    written = [each.ids for hypotheses in found for each in hypotheses]
    every = iter(_every_head(first, rows, written).cpu())
    return [
        [replace(each, heads=next(every)[:, : len(each.ids), : each.weights.shape[1]]) for each in hypotheses]
        for hypotheses in found
    ]


@torch.no_grad()
def _every_head(model: Seq2Seq, source: SourceBatch, written: Sequence[tuple[int, ...]]) -> Tensor:
    before = [torch.tensor([BEGIN_ID, *ids[:-1]], device=source.ids.device) for ids in written]
    memory = model.encode(source)
    state, steps = model.decoder.initial_state(memory), []
    for tokens in pad_sequence(before, batch_first=True).unbind(dim=1):
        _, state, _ = model.decoder.step(tokens, state, memory)
        steps.append(state[-1])  # see `MultiHeadAttention`
    return torch.stack(steps, dim=2)


def force_pairs(
    folder: str | Path, pairs: Sequence[SentencePair], *, trust_custom_code: bool = False
) -> list[Translation]:
    """Return given translations with their scores and attention, computed by the model of a folder."""
    size = BatchSize(sentences=None, tokens=4096)
    saved = load_attending(folder, trust_custom_code=trust_custom_code)
    return force_translate(saved, pairs, device=torch.device("cpu"), batch_size=size)
