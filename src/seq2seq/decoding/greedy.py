"""Greedy search: the most probable token at every step."""

from collections.abc import Callable

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID
from seq2seq.decoding.stepper import ACTIVE_SHARE, Hypothesis, Models, Stepper, argmax, forbid_specials
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits

TokenChooser = Callable[[Tensor, Tensor, int], Tensor]
"""Function of log-probabilities (n, V), their sentences (n,) and the position of the token, from 0; returns tokens (n,)."""


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
    stepper, num_sentences = Stepper(models, source), len(source.lengths)  # encodes the source
    min_lengths, max_lengths = limits.minimum(source.lengths), limits.maximum(source.lengths)
    # a step has a row for each sentence, its only hypothesis; when enough translations have ended, rows are removed
    row_sentences = torch.arange(num_sentences, device=source.ids.device)  # index of the sentence of each row
    row_tokens = torch.full_like(row_sentences, BEGIN_ID)  # previous token of each row
    is_active = torch.ones_like(row_sentences, dtype=torch.bool)  # rows whose translation has not ended
    lengths = torch.zeros_like(row_sentences)
    scores = torch.zeros(num_sentences, dtype=stepper.dtype, device=lengths.device)  # log-probabilities
    # tokens (B,) and weights (B, S) of each step, 0 for sentences that have ended
    all_tokens, all_weights = list[Tensor](), list[Tensor]()

    while len(row_sentences):
        position, active_rows = len(all_tokens), is_active.nonzero().squeeze(1)
        # calls `decoder.step` for all rows; then the output layer and log_softmax for some active rows at a time
        # tokens (rows, 1), one hypothesis a row; weights (rows, 1, S), the mean over heads and models
        weights = stepper.step(row_tokens.unsqueeze(1)).squeeze(1)  # (rows, S)
        for rows, log_probs in stepper.log_probabilities(active_rows):  # (n,) and (n, V)
            sentences = row_sentences[rows]
            # sets <pad>, <bos> and, if the translation is too short, <eos> to -inf
            forbid_specials(log_probs, too_short=position + 1 < min_lengths[sentences])
            row_tokens[rows] = choose(log_probs, sentences, position)
            scores[sentences] += log_probs.gather(1, row_tokens[rows].unsqueeze(1)).squeeze(1)
        active, tokens = row_sentences[active_rows], row_tokens[active_rows]
        lengths[active] = position + 1
        all_tokens.append(torch.zeros_like(lengths).index_copy_(0, active, tokens))
        step_weights = weights.new_zeros(num_sentences, weights.shape[1])
        all_weights.append(step_weights.index_copy_(0, active, weights[active_rows]))
        is_active[active_rows] = (tokens != END_ID) & (position + 1 < max_lengths[active])
        if is_active.sum() <= ACTIVE_SHARE * len(is_active):
            kept = is_active.nonzero().squeeze(1)
            stepper.select(kept)
            row_sentences, row_tokens, is_active = row_sentences[kept], row_tokens[kept], is_active[kept]

    ids, weights = torch.stack(all_tokens, dim=1).tolist(), torch.stack(all_weights, dim=1).cpu()
    columns = zip(ids, scores.tolist(), weights, lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        Hypothesis(tuple(tokens[:length]), score, matrix[:length, :source_length])
        for tokens, score, matrix, length, source_length in columns
    ]
