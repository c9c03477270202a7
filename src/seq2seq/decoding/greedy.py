"""Greedy search: the most probable token at every step."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID
from seq2seq.decoding.stepper import LIVE_SHARE, Hypothesis, Models, Stepper, argmax, forbid
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits

Choice = Callable[[Tensor, Tensor, int], Tensor]
"""Function of log-probabilities (n, V), indices of their sentences (n,) and the step (from 0) that returns tokens (n,)."""


def greedy_search(
    models: Models, source: SourceBatch, *, limits: LengthLimits = DEFAULT_LIMITS
) -> list[Hypothesis]:
    """Translate a batch of sentences with the most probable token at each step.

    Args:
        models: A model, or the members of an ensemble.
        source: The sentences (B).
        limits: Minimum and maximum length of a translation, relative to the source length.

    Returns:
        One hypothesis per sentence.
    """
    return follow_choices(models, source, lambda log_probs, *_: argmax(log_probs), limits=limits)


@torch.no_grad()
def follow_choices(
    models: Models, source: SourceBatch, choose: Choice, *, limits: LengthLimits
) -> list[Hypothesis]:
    """Translate a batch of sentences with the tokens that `choose` returns.

    The limits of a sentence depend on its length only, so its translation does not depend on the other sentences
    of the batch.
    """
    stepper, size = Stepper(models, source), len(source.lengths)
    minimum, maximum = limits.minimum(source.lengths), limits.maximum(source.lengths)
    # N rows, one per sentence; when enough sentences have ended, their rows are removed
    sentences = torch.arange(size, device=source.ids.device)  # index of the sentence of each row (N,)
    tokens = torch.full_like(sentences, BEGIN_ID)
    is_live = torch.ones_like(tokens, dtype=torch.bool)  # rows whose translation has not ended
    lengths = torch.zeros_like(sentences)
    scores = torch.zeros(size, dtype=stepper.dtype, device=tokens.device)  # log-probabilities
    all_tokens, all_weights = [], []  # of each step (B,) and (B, S), 0 for sentences that have ended

    def choose_tokens(
        live: Tensor, too_short: Tensor, step: int, log_probs: Tensor, part: slice
    ) -> tuple[Tensor, Tensor]:
        forbid(log_probs, too_short[part])
        token = choose(log_probs, live[part], step)
        return log_probs.gather(1, token.unsqueeze(1)).squeeze(1), token

    while len(sentences):
        step = len(all_tokens)
        rows = is_live.nonzero().squeeze(1)
        live = sentences[rows]
        choose_live = partial(choose_tokens, live, step + 1 < minimum[live], step)
        log_probs, next_tokens, weights = stepper.advance(tokens.unsqueeze(1), rows, choose_live)
        tokens[rows] = next_tokens
        scores[live] += log_probs
        lengths[live] = step + 1
        all_tokens.append(torch.zeros_like(lengths).index_copy_(0, live, next_tokens))
        all_weights.append(
            weights.new_zeros(size, weights.shape[2]).index_copy_(0, live, weights[rows].squeeze(1))
        )
        is_live[rows] = (next_tokens != END_ID) & (step + 1 < maximum[live])
        if is_live.sum() <= LIVE_SHARE * len(is_live):
            kept = is_live.nonzero().squeeze(1)
            stepper.select(kept, torch.zeros_like(tokens).unsqueeze(1))
            sentences, tokens, is_live = sentences[kept], tokens[kept], is_live[kept]

    ids, weights = torch.stack(all_tokens, dim=1).tolist(), torch.stack(all_weights, dim=1).cpu()
    columns = zip(ids, scores.tolist(), weights, lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        Hypothesis(tuple(tokens[:length]), score, matrix[:length, :source_length])
        for tokens, score, matrix, length, source_length in columns
    ]
