"""Greedy search: the most probable token at every step."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID
from seq2seq.decoding.stepper import FULL, Hypothesis, Models, Stepper, forbid, place_of_top
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits

Choice = Callable[[Tensor, Tensor, int], Tensor]
"""From log-probabilities (n, V), the sentences they are of (n,) and the number of the step, from 0, to tokens (n,)."""


def greedy_search(
    models: Models, source: SourceBatch, *, limits: LengthLimits = DEFAULT_LIMITS
) -> list[Hypothesis]:
    """Translate a batch with the most probable token at every step.

    Args:
        models: A model, or the members of an ensemble.
        source: B sentences.
        limits: Minimum and maximum length of a translation, from the length of its source.
    """
    return follow_choices(models, source, lambda log_probs, *_: place_of_top(log_probs), limits=limits)


@torch.no_grad()
def follow_choices(
    models: Models, source: SourceBatch, choose: Choice, *, limits: LengthLimits
) -> list[Hypothesis]:
    """Translate a batch with the tokens that `choose` chooses.

    The limits of a sentence follow from the sentence alone, so its translation does not depend on the others
    of the batch.
    """
    stepper, size = Stepper(models, source), len(source.lengths)
    minimum, maximum = limits.minimum(source.lengths), limits.maximum(source.lengths)
    sentences = torch.arange(size, device=source.ids.device)  # those of the rows of tokens and states (N,)
    tokens = torch.full_like(sentences, BEGIN_ID)
    running = torch.ones_like(tokens, dtype=torch.bool)  # rows that have not ended
    lengths = torch.zeros_like(sentences)
    total = torch.zeros(size, dtype=stepper.dtype, device=tokens.device)  # log-probability of the translation
    all_tokens, all_weights = [], []  # of every step (B,) and (B, S), 0 for sentences that have ended

    def best_of_rows(
        sentences: Tensor, too_short: Tensor, step: int, log_probs: Tensor, rows: slice
    ) -> tuple[Tensor, Tensor]:
        forbid(log_probs, too_short[rows])
        token = choose(log_probs, sentences[rows], step)
        return log_probs.gather(1, token.unsqueeze(1)).squeeze(1), token

    while len(sentences):
        step = len(all_tokens)
        live = running.nonzero().squeeze(1)
        here = sentences[live]
        chosen = partial(best_of_rows, here, step + 1 < minimum[here], step)
        log_probs, found, weights = stepper.advance(tokens.unsqueeze(1), live, chosen)
        tokens[live] = found
        total[here] += log_probs
        lengths[here] = step + 1
        all_tokens.append(torch.zeros_like(lengths).index_copy_(0, here, found))
        all_weights.append(
            weights.new_zeros(size, weights.shape[2]).index_copy_(0, here, weights[live].squeeze(1))
        )
        running[live] = (found != END_ID) & (step + 1 < maximum[here])
        if running.sum() <= FULL * len(running):  # remove the sentences that have ended
            kept = running.nonzero().squeeze(1)
            stepper.follow(kept, torch.zeros_like(tokens).unsqueeze(1))
            sentences, tokens, running = sentences[kept], tokens[kept], running[kept]

    ids, weights = torch.stack(all_tokens, dim=1).tolist(), torch.stack(all_weights, dim=1).cpu()
    rows = zip(ids, total.tolist(), weights, lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        Hypothesis(tuple(tokens[:length]), score, looked[:length, :width])
        for tokens, score, looked, length, width in rows
    ]
