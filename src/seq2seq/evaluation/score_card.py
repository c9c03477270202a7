"""Scores of translations for training and the commands: of a whole set, by source length, by unknown words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joined_words import text_words
from seq2seq.common.progress import counted
from seq2seq.evaluation.bleu import bleu_metric, bleu_of, cased_bleu, sentence_statistics
from seq2seq.evaluation.metrics import METRICS, places_by, scores_of

Texts = Sequence[str]

LENGTH_STEP = 5
MOST_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Translations of a test set and their scores.

    Attributes:
        texts: Detokenized.
        scores: Scores by the names of `METRICS`.
        bleu_signature: Signature of ``bleu`` by sacreBLEU; of several pairs of languages, of each tokenization.
        confidences: How sure the model was of each, as a mean log-probability of a token.
        bleu_interval: 95 % interval of BLEU, see `interval_of`; None if it was not computed, as for the mean of several
            pairs of languages.
    """

    texts: Texts
    scores: Mapping[str, float]
    bleu_signature: str
    bleu_interval: tuple[float, float] | None = None
    confidences: Sequence[float] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the scores by name, with signature and number of sentences."""
        facts = {"bleu_signature": self.bleu_signature, "num_sentences": len(self.texts)}
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
    languages: Texts = (),
) -> ScoreCard:
    """Score translations against one reference each.

    `metrics` are your own by name, see `own_scores`, which may need `sources`; `languages` see `scores_by_languages`.

    Raises:
        ValueError: There are none, or their numbers differ.
        InputError: A metric of another package fails.
    """
    scores = scores_of(hypotheses, references, language, others=metrics, sources=sources, languages=languages)
    interval = None
    if with_interval and not any(languages):
        from judged_seeds import interval_of  # imports scipy

        interval = interval_of(sentence_statistics(hypotheses, references, language), 0.05, bleu_of)
    targets = sorted({each.rpartition("-")[2] for each in languages} - {""}) or [language]
    signatures = dict.fromkeys(map(bleu_signature, targets))
    mean = "mean over pairs of languages, " if any(languages) else ""
    return ScoreCard(hypotheses, scores, mean + " and ".join(signatures), interval)


def bleu_signature(language: str) -> str:
    """Return the signature of ``bleu`` by sacreBLEU, for one reference."""
    metric = bleu_metric(language)
    metric.corpus_score([""], [[""]])  # it counts references only then
    return str(metric.get_signature())


def score_table(cards: dict[str, ScoreCard]) -> str:
    """Return score cards side by side, as a table for the terminal."""
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
    return "\n".join([*lines, f"{counted(len(first.texts), 'sentence')}, {first.bleu_signature}"])


def group_table(
    title: str,
    groups: Mapping[str, Sequence[int]],
    hypotheses: Texts,
    references: Texts,
    language: str,
    languages: Texts = (),
) -> str:
    """Return a table of the scores of groups of sentences, given by name and places: BLEU and the ratio of words.

    If `languages` name the pair of each sentence, both are means over the pairs of languages of the group.
    """
    lines = [f"{title:<26}{'sentences':>12}{'BLEU':>12}{'length':>12}"]
    for name, places in groups.items():
        found = []
        for pair, inner in places_by([languages[p] if languages else "" for p in places]).items():
            texts, others = ([side[places[i]] for i in inner] for side in (hypotheses, references))
            num_words = [sum(map(len, text_words(side))) for side in (texts, others)]
            bleu = cased_bleu(texts, others, pair.rpartition("-")[2] or language)
            found.append((bleu, num_words[0] / max(num_words[1], 1)))
        bleu, ratio = (sum(each) / len(found) for each in zip(*found, strict=True))
        lines.append(f"{name:<26}{len(places):>12,}{bleu:>12.2f}{ratio:>12.2f}")
    return "\n".join(lines)


def by_source_length(sources: Texts, languages: Texts = ()) -> dict[str, list[int]]:
    """Return the places of sentences with 1 to 5 words, 6 to 10, and so on.

    If `languages` name the pair of each sentence, words are those of each source language, see `text_words`.
    """
    steps = [0] * len(sources)
    for places in places_by([each.partition("-")[0] for each in languages or [""] * len(sources)]).values():
        for place, words in zip(places, text_words([sources[p] for p in places]), strict=True):
            steps[place] = max(len(words) - 1, 0) // LENGTH_STEP
    return _grouped(steps, lambda step: f"{step * LENGTH_STEP + 1}-{(step + 1) * LENGTH_STEP}")


def by_unknown_words(num_unknown: Sequence[int]) -> dict[str, list[int]]:
    """Return the places of sentences with 0, 1, 2, and 3 or more unknown words."""
    numbers = [min(number, MOST_UNKNOWN) for number in num_unknown]
    return _grouped(numbers, lambda number: f"{number}{' or more' if number == MOST_UNKNOWN else ''}")


def _grouped(numbers: Sequence[int], name: Callable[[int], str]) -> dict[str, list[int]]:
    return {name(each): [p for p, n in enumerate(numbers) if n == each] for each in sorted({*numbers})}
