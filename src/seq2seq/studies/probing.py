"""Probe the attention of a model along its own greedy translations."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import Tensor
from torch.func import functional_call

from seq2seq.common.progress import tracked
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.vocabulary import END_ID
from seq2seq.data.words import split_words
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import word_indices
from seq2seq.models.folder import SavedModel
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.studies.faithfulness import Probed, rank_correlations
from seq2seq.studies.interventions import tokens_that_stay

MAX_PROBED_TOKENS = 100
"""Maximum number of tokens of a probed sentence; the time grows with its third power."""

BATCH_SIZE = BatchSize(sentences=None, tokens=2048)


def probe(exported: SavedModel, sentences: Sequence[str], *, seed: int, device: torch.device) -> list[Probed]:
    """Return the measures of `Probed` for the greedy translations of sentences.

    Pairs with an empty side, or with a side of more than `MAX_PROBED_TOKENS` tokens, are left out.

    Raises:
        InputError: The decoder has no attention of this program, or no sentence is left.
    """
    translator = Translator(exported, device=device, batch_size=BATCH_SIZE)
    ids = [
        (exported.source_tokenizer.encode(text), [i for i in each.ids if i != END_ID])
        for text, each in zip(sentences, translator.translate(sentences), strict=True)
    ]
    kept = [pair for pair in ids if all(0 < len(side) <= MAX_PROBED_TOKENS for side in pair)]
    if not kept:
        if any(0 < len(source) <= MAX_PROBED_TOKENS for source, _ in ids):
            raise InputError(
                f"the model translates every sentence into nothing, or into more than {MAX_PROBED_TOKENS} tokens: train it longer"
            )
        raise InputError(f"no sentence has 1 to {MAX_PROBED_TOKENS} tokens: give others")
    source, target = (Sentences.from_lists([pair[side] for pair in kept]) for side in (0, 1))
    split = EncodedSplit([], source, target, num_blank=0, num_long=0)

    def probed() -> Iterator[Probed]:
        for indices in sorted_order(source.lengths, target.lengths, BATCH_SIZE):
            batch = Batch.from_split(split, indices.tolist()).to(device)
            stays, attention = tokens_that_stay(exported.model, batch, seed=seed)
            for row, index in enumerate(indices.tolist()):
                words = _words(exported.target_tokenizer, kept[index][1])
                measures = importance(exported.model, Batch.from_split(split, [index]).to(device))
                looked = attention[row, : len(words), : measures[0].shape[1]]
                correlations = rank_correlations(*(each.numpy(force=True) for each in (looked, *measures)))
                yield Probed(words, stays[row, :, : len(words)].numpy(force=True), correlations)

    return list(tracked(probed(), "probing", len(kept)))


def _words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the word in which each token begins; the token itself if tokens do not spell words."""
    tokens, words = tokenizer.words(ids), split_words(tokenizer.decode(ids))
    try:
        places = word_indices(tokens, [tokenizer.prepared(word) for word in words])
    except ValueError:
        return tokens
    return [words[place[0]] if place else t for t, place in zip(tokens, places, strict=True)]


def importance(model: Seq2Seq, pair: Batch) -> tuple[Tensor, Tensor]:
    """Return two measures of the importance of each source word for each predicted token (T, W), without ``<eos>``.

    With y_t the most probable token, e_j the embedding of source word j, and p_t the probabilities: gradient
    times input, and leave-one-out (the sentence is encoded again without the word):

        |e_j . d log p_t(y_t) / d e_j|,  1/2 sum over y of |p_t(y) - p_t(y given no word j)|
    The model is in evaluation mode, and the batch has one pair.
    """
    ids, height = pair.source.ids, int(pair.target_lengths) - 1
    rest = ~torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
    left_out = ids.expand(len(rest), -1)[rest].view(len(rest), -1)[:-1]
    with torch.no_grad():
        (features,) = _features(model, ids, pair)
        expected = _log_probabilities(model, features).exp()
        others = (_log_probabilities(model, f).exp() for f in _features(model, left_out, pair))
        moved = [(each - expected).abs().sum(dim=1) / 2 for each in others]
    return _gradient(model, pair)[:height, :-1], torch.stack(moved, dim=1)[:height]


def _gradient(model: Seq2Seq, pair: Batch) -> Tensor:
    """Return gradient times input of all steps (T, S); each step has its own copy of the source embeddings."""
    table, num_steps = model.source_embedding.weight.detach(), pair.target_input.shape[1]
    own = table[pair.source.ids[0]].repeat(num_steps, 1).requires_grad_()
    ids = torch.arange(len(own), device=own.device).view(num_steps, -1) + len(table)
    weights = {"source_embedding.weight": torch.cat([table, own])}
    # cuDNN computes gradients of a GRU in training mode only
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        features = _features(model, ids, pair, weights).diagonal().T
        said = _log_probabilities(model, features).amax(dim=1).sum()
        (gradient,) = torch.autograd.grad(said, own)
    return (gradient * own.detach()).sum(dim=1).abs().view(num_steps, -1)


def _features(
    model: Seq2Seq, ids: Tensor, pair: Batch, weights: Mapping[str, Tensor] = MappingProxyType({})
) -> Tensor:
    """Return the features of the target of a pair for each of N sources (N, T, R)."""
    source = SourceBatch(ids, torch.full_like(ids[:, 0], ids.shape[1]))
    fields = pair.target_input, pair.target_output, pair.target_lengths, pair.sentence_ids
    batch = Batch(source, *(field.expand(len(ids), *field.shape[1:]) for field in fields))
    features, _ = functional_call(model, dict(weights), batch, tie_weights=False)
    return features


def _log_probabilities(model: Seq2Seq, features: Tensor) -> Tensor:
    return model.decoder.output(features).float().log_softmax(dim=1)
