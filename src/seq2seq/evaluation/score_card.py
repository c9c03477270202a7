"""Scores of translations for training and the commands: of a whole set, by source length, by unknown words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.data.words import text_words
from seq2seq.evaluation.bleu import bleu_metric, cased_bleu, sentence_statistics
from seq2seq.evaluation.metrics import METRICS, scores_of
from seq2seq.evaluation.significance import interval_of

Texts = Sequence[str]

LENGTH_STEP = 5
MOST_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenized text.

    Attributes:
        scores: Scores by the names of `METRICS`.
        bleu_signature: Signature of ``bleu`` by sacreBLEU.
        num_sentences: Number of sentences.
        bleu_interval: 95 % interval of BLEU, see `interval_of`; None if it was not computed.
    """

    scores: Mapping[str, float]
    bleu_signature: str
    num_sentences: int
    bleu_interval: tuple[float, float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the scores by name, with signature and number of sentences."""
        facts = {"bleu_signature": self.bleu_signature, "num_sentences": self.num_sentences}
        interval = {"bleu_interval": self.bleu_interval} if self.bleu_interval else {}
        return {**self.scores, **facts, **interval}


def score_card(
    hypotheses: Texts,
    references: Texts,
    *,
    language: str,
    with_interval: bool = False,
    metrics: Mapping[str, Any] | None = None,
    sources: Texts = (),
) -> ScoreCard:
    """Score translations against one reference each.

    Args:
        hypotheses: The translations.
        references: One reference for each.
        language: Code of their language.
        with_interval: Compute `ScoreCard.bleu_interval`.
        metrics: Your own metrics by name, see `own_scores`.
        sources: The sentences that were translated, for `metrics`.

    Raises:
        ValueError: There are none, or their numbers differ.
        InputError: A metric of another package fails.
    """
    scores = scores_of(hypotheses, references, language, others=metrics, sources=sources)
    interval = None
    if with_interval:
        interval = interval_of(sentence_statistics(hypotheses, references, language), 0.05)
    return ScoreCard(scores, bleu_signature(language), len(references), interval)


def bleu_signature(language: str) -> str:
    """Return the signature of ``bleu`` by sacreBLEU, for one reference."""
    metric = bleu_metric(language)
    metric.corpus_score([""], [[""]])  # it counts references only then
    return str(metric.get_signature())


def score_table(cards: dict[str, ScoreCard]) -> str:
    """Return score cards side by side, as a table for the terminal.

    Args:
        cards: Score cards by name of the search, all of one language.
    """
    lines = ["".join([" " * 26, *(f"{name:>12}" for name in cards)])]
    first = next(iter(cards.values()))
    for name in first.scores:
        values = (f"{card.scores[name]:12.2f}" for card in cards.values())
        title = METRICS[name].title if name in METRICS else name
        lines.append("".join([f"{title:<26}", *values]))
        if name == "bleu" and first.bleu_interval:
            intervals = (card.bleu_interval or () for card in cards.values())
            cells = ("–".join(f"{end:.1f}" for end in ends) for ends in intervals)
            lines.append("".join([f"{'  95 % interval':<26}", *(f"{cell:>12}" for cell in cells)]))
    return "\n".join([*lines, f"{first.num_sentences:,} sentences, {first.bleu_signature}"])


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
    places = [max(len(words) - 1, 0) // LENGTH_STEP for words in text_words(sources)]
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
        texts, others = [hypotheses[i] for i in inside], [references[i] for i in inside]
        num_words = [sum(map(len, text_words(side))) for side in (texts, others)]
        bleu = cased_bleu(texts, others, language)
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
