"""Greedy search: the most probable token at every step."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID
from seq2seq.decoding.stepper import ACTIVE_SHARE, Hypothesis, Models, Stepper, argmax, forbid
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits

TokenChooser = Callable[[Tensor, Tensor, int], Tensor]
"""Function of log-probabilities (n, V), indices of their sentences (n,) and the step (from 0) that returns tokens (n,)."""


def greedy_search(
    models: Models, source: SourceBatch, *, limits: LengthLimits = DEFAULT_LIMITS
) -> list[Hypothesis]:
    """Translate a batch of sentences with the most probable token at each step.

    Examples:
        >>> from seq2seq.models.folder import load_model_folder
        >>> saved = load_model_folder("grammar-en-fr")
        >>> ids = saved.source_tokenizer.encode("I see the dog.")
        >>> (hypothesis,) = greedy_search(saved.model, SourceBatch.from_sentences([ids]))
        >>> saved.target_tokenizer.decode(hypothesis.ids)
        'Je vois le chien.'

    Args:
        models: A model, or the members of an ensemble.
        source: The sentences (B).
        limits: Minimum and maximum length of a translation, relative to the source length.

    Returns:
        One hypothesis per sentence.
    """
    return decode_stepwise(models, source, lambda log_probs, *_: argmax(log_probs), limits=limits)


@torch.no_grad()
def decode_stepwise(
    models: Models, source: SourceBatch, choose: TokenChooser, *, limits: LengthLimits
) -> list[Hypothesis]:
    """Translate a batch of sentences with the tokens that `choose` returns.

    The limits of a sentence depend on its length only, so its translation does not depend on the other sentences
    of the batch.
    """
    # the stepper computes the logits of some sentences at a time, and calls `_choose_tokens` for each of these parts
    stepper, num_sentences = Stepper(models, source), len(source.lengths)
    minimum, maximum = limits.minimum(source.lengths), limits.maximum(source.lengths)
    # the stepper has a row for each sentence; when enough translations have ended, their rows are removed
    row_sentences = torch.arange(num_sentences, device=source.ids.device)  # index of the sentence of each row
    row_tokens = torch.full_like(row_sentences, BEGIN_ID)  # previous token of each row
    is_active = torch.ones_like(row_sentences, dtype=torch.bool)  # rows whose translation has not ended
    lengths = torch.zeros_like(row_sentences)
    scores = torch.zeros(num_sentences, dtype=stepper.dtype, device=lengths.device)  # log-probabilities
    all_tokens, all_weights = (
        list[Tensor](),
        list[Tensor](),
    )  # of each step (B,) and (B, S), 0 for sentences that have ended

    while len(row_sentences):
        step, active_rows = len(all_tokens), is_active.nonzero().squeeze(1)
        active = row_sentences[active_rows]  # sentences whose translation has not ended
        choose_part = partial(_choose_tokens, choose, active, step + 1 < minimum[active], step)
        log_probs, tokens, weights = stepper.advance(row_tokens.unsqueeze(1), active_rows, choose_part)
        scores[active] += log_probs
        lengths[active] = step + 1
        all_tokens.append(torch.zeros_like(lengths).index_copy_(0, active, tokens))
        step_weights = weights.new_zeros(num_sentences, weights.shape[2])
        all_weights.append(step_weights.index_copy_(0, active, weights[active_rows].squeeze(1)))
        row_tokens[active_rows] = tokens
        is_active[active_rows] = (tokens != END_ID) & (step + 1 < maximum[active])
        if is_active.sum() <= ACTIVE_SHARE * len(is_active):
            kept = is_active.nonzero().squeeze(1)
            stepper.select(kept, torch.zeros_like(row_tokens).unsqueeze(1))
            row_sentences, row_tokens, is_active = row_sentences[kept], row_tokens[kept], is_active[kept]

    ids, weights = torch.stack(all_tokens, dim=1).tolist(), torch.stack(all_weights, dim=1).cpu()
    columns = zip(ids, scores.tolist(), weights, lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        Hypothesis(tuple(tokens[:length]), score, matrix[:length, :source_length])
        for tokens, score, matrix, length, source_length in columns
    ]


def _choose_tokens(
    choose: TokenChooser, sentences: Tensor, too_short: Tensor, step: int, log_probs: Tensor, part: slice
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and tokens of a part of the sentences, see `Stepper.advance`."""
    forbid(log_probs, too_short[part])
    tokens = choose(log_probs, sentences[part], step)
    return log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1), tokens
