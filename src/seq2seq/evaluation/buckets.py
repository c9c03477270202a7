"""Scores of groups of sentences: by source length, by number of unknown words."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.evaluation.bleu import cased_bleu

LENGTH_STEP = 5
MOST_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Bucket:
    """A group of sentences and its scores.

    Attributes:
        name: Name of the group.
        num_sentences: Number of sentences.
        bleu: Cased corpus BLEU of their translations.
        length_ratio: Words of the translations per word of the references.
    """

    name: str
    num_sentences: int
    bleu: float
    length_ratio: float


def by_source_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], language: str
) -> list[Bucket]:
    """Return the scores of sentences with 1 to 5 words, 6 to 10, and so on."""
    places = [max(len(source.split()) - 1, 0) // LENGTH_STEP for source in sources]
    names = {p: f"{p * LENGTH_STEP + 1}-{(p + 1) * LENGTH_STEP}" for p in places}
    return _buckets(places, names, hypotheses, references, language)


def by_unknown_words(
    num_unknown: Sequence[int], hypotheses: Sequence[str], references: Sequence[str], language: str
) -> list[Bucket]:
    """Return the scores of sentences with 0, 1, 2, and 3 or more unknown words."""
    places = [min(number, MOST_UNKNOWN) for number in num_unknown]
    names = {p: str(p) if p < MOST_UNKNOWN else f"{MOST_UNKNOWN} or more" for p in places}
    return _buckets(places, names, hypotheses, references, language)


def _buckets(
    places: Sequence[int],
    names: dict[int, str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str,
) -> list[Bucket]:
    buckets = []
    for place in sorted(names):
        inside = [index for index, other in enumerate(places) if other == place]
        found, wanted = [hypotheses[i] for i in inside], [references[i] for i in inside]
        num_words = [sum(len(text.split()) for text in texts) for texts in (found, wanted)]
        bleu = cased_bleu(found, wanted, language)
        ratio = num_words[0] / max(num_words[1], 1)
        buckets.append(Bucket(names[place], len(inside), bleu, ratio))
    return buckets


def bucket_table(title: str, buckets: Sequence[Bucket]) -> str:
    """Return buckets as a table for the terminal.

    Args:
        title: What the sentences are grouped by.
        buckets: The rows.
    """
    rows = (f"{b.name:<26}{b.num_sentences:>12,}{b.bleu:>12.2f}{b.length_ratio:>12.2f}" for b in buckets)
    head = f"{title:<26}{'sentences':>12}{'BLEU':>12}{'length':>12}"
    return "\n".join([head, *rows])
