"""Values that are null in `recipe=standard`, computed from the size of the corpus."""

from math import log

REFERENCE_PAIRS, REFERENCE_PIECES = 29_000, 8_000
"""Those of Multi30k, where they were measured."""

MAX_PIECES = 16_000
"""Bound for larger corpora: the output layer is most of a step already."""

ENOUGH_STEPS, FEW_PASSES, MANY_PASSES = 2_000, 2.5, 34.0


def vocabulary_size(num_sentences: int) -> int:
    """Return the number of subwords for so many training sentences of both languages.

    With n pairs 8,000 (n / 29,000)^0.4, in thousands: the exponent is near that of the number of different
    words in a text of n (Heaps 1978).
    """
    thousands = REFERENCE_PIECES * (num_sentences / 2 / REFERENCE_PAIRS) ** 0.4 / 1_000
    return min(1_000 * max(1, round(thousands)), MAX_PIECES)


def batch_size(num_pairs: float, max_epochs: int, max_steps: int, accumulate: int = 1) -> int:
    """Return the largest of 128, 64, 32 and 16 sentences that leaves enough steps.

    Args:
        num_pairs: Training pairs of a process.
        max_epochs: Passes over them at most.
        max_steps: Optimizer steps at most; -1: no bound.
        accumulate: Batches of a step.
    """
    for size in (128, 64, 32):
        steps = max_epochs * num_pairs / size / accumulate
        if (steps if max_steps < 0 else min(steps, max_steps)) >= ENOUGH_STEPS:
            return size
    return 16


def passes(num_pairs: float, max_epochs: int, max_steps: int, pairs_of_step: float) -> float:
    """Return how often training reads each of so many pairs."""
    return max_epochs if max_steps < 0 else min(max_epochs, max_steps * pairs_of_step / num_pairs)


def dropouts(num_passes: float) -> tuple[float, float]:
    """Return dropout of embeddings, and of states and features, for so many passes over a corpus.

    0.3 and 0.5 were best for 34 passes over Multi30k, 0.1 for two and a half; between them by the logarithm
    of the passes.
    """
    share = min(max(0.0, log(num_passes / FEW_PASSES) / log(MANY_PASSES / FEW_PASSES)), 1.0)
    return round(0.1 + 0.2 * share, 2), round(0.1 + 0.4 * share, 2)


def validation_interval(num_epochs: int) -> int:
    """Return the epochs between two validations, for about thirty of them."""
    return max(1, round(num_epochs / 30))
