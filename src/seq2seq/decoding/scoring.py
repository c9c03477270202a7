"""Translate a test set with greedy and beam search, and score the translations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seq2seq.data.text import SentencePair
from seq2seq.decoding.search import GREEDY, Search
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.metrics import bleu_by_languages
from seq2seq.evaluation.score_card import ScoreCard, score_card


@dataclass(frozen=True, slots=True)
class Scored:
    """Translations of a test set by one search, and their scores."""

    translations: list[Translation]
    card: ScoreCard

    @property
    def texts(self) -> list[str]:
        """The text of each translation."""
        return [translation.text for translation in self.translations]


def score_searches(
    translator: Translator,
    pairs: Sequence[SentencePair],
    search: Search,
    *,
    with_interval: bool = False,
    metrics: Mapping[str, Any] | None = None,
) -> dict[str, Scored]:
    """Score the translations of greedy search, and of `search` if it is a beam search.

    Args:
        translator: The model.
        pairs: The test set.
        search: The second search.
        with_interval: See `score_card`.
        metrics: See `score_card`.

    Returns:
        Scores by the name of the search: ``greedy``, then for example ``beam 5``.
    """
    searches = {"greedy": GREEDY}
    if search.beam_size > 1:
        searches[f"beam {search.beam_size}"] = search
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    scored = {}
    for name, each in searches.items():
        found = translator.translate(sources, search=each)
        texts, language = [translation.text for translation in found], translator.target_language
        card = score_card(
            texts,
            references,
            language=language,
            with_interval=with_interval,
            metrics=metrics,
            sources=sources,
        )
        if several := bleu_by_languages(texts, references, [pair.languages for pair in pairs]):
            card = replace(card, scores={**card.scores, **several})
        scored[name] = Scored(found, card)
    return scored


def as_metrics(scored: dict[str, Scored]) -> dict[str, Any]:
    """Return the scores as JSON values by search, ``greedy`` and ``beam``."""
    return {name.split()[0]: each.card.as_dict() for name, each in scored.items()}
