"""BLEU of a single sentence: as textbooks define it, and smoothed."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def sentence_bleu(hypothesis: Sequence[str], reference: Sequence[str], *, max_order: int) -> float:
    """Score one translation from 0 to 1.

        exp(min(0, 1 - len(reference) / len(hypothesis))) * prod_n p_n ^ (1 / 2^n),  n = 1..k

    p_n is the share of the hypothesis's n-grams that the reference holds, each counted at most as
    often as there. Long n-grams weigh more than in corpus BLEU (Papineni et al. 2002), because
    they are harder to match. A hypothesis shorter than k tokens is scored by the orders it has.

    Args:
        hypothesis: tokens of the translation.
        reference: tokens of the reference.
        max_order: k.
    """
    if not hypothesis:
        return 0.0
    score = math.exp(min(0.0, 1 - len(reference) / len(hypothesis)))
    for order in range(1, min(max_order, len(hypothesis)) + 1):
        score *= _precision(hypothesis, reference, order) ** 0.5**order
    return score


def smoothed_sentence_bleu(
    hypothesis: Sequence[Hashable], reference: Sequence[Hashable], *, max_order: int = 4
) -> float:
    """Score one translation from 0 to 1 by BLEU+1 (Lin and Och 2004).

        exp(min(0, 1 - len(reference) / len(hypothesis))) * (prod_n p_n) ^ (1 / k),  n = 1..k

    p_n is the share of the hypothesis's n-grams that the reference holds, each counted at most as often as
    there; for n > 1 one is added to both counts, so that a sentence without a common n-gram has a score.

    Args:
        hypothesis: tokens of the translation, of any kind.
        reference: tokens of the reference.
        max_order: k.
    """
    if not hypothesis:
        return 0.0
    product = 1.0
    for order in range(1, max_order + 1):
        ngrams, added = _ngrams(hypothesis, order), int(order > 1)
        common = (ngrams & _ngrams(reference, order)).total()
        product *= (common + added) / (ngrams.total() + added)
    return math.exp(min(0.0, 1 - len(reference) / len(hypothesis))) * product ** (1 / max_order)


def _precision(hypothesis: Sequence[str], reference: Sequence[str], order: int) -> float:
    ngrams = _ngrams(hypothesis, order)
    return (ngrams & _ngrams(reference, order)).total() / ngrams.total()


def _ngrams(tokens: Sequence[Hashable], order: int) -> Counter[tuple[Hashable, ...]]:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))
