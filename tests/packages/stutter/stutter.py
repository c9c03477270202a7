"""A metric of another package: how often a translation says a word twice, which decoders may do."""

from itertools import pairwise

from seq2seq.evaluation.metrics import metric


@metric("repeated words", direction="min", is_quick=True)
def repeated(hypotheses, references, language):
    """Words that are the one before once more, of a hundred that could be.

    Args:
        hypotheses: the translations, as text.
        references: one for each, which this metric does not need.
        language: code of their language.
    """
    pairs = [pair for text in hypotheses for pair in pairwise(text.split())]
    return 100 * sum(word == before for before, word in pairs) / max(len(pairs), 1)
