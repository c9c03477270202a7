"""Translate a test set with greedy and beam search, and score the translations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seq2seq.common.progress import announce, warn
from seq2seq.data.text import SentencePair
from seq2seq.data.words import text_words
from seq2seq.decoding.search import GREEDY, Search
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.metrics import bleu_by_languages
from seq2seq.evaluation.score_card import (
    ScoreCard,
    bucket_table,
    by_source_length,
    by_unknown_words,
    score_card,
    score_table,
)


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


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """The scores of a model on a test set; printed, tables of them, also by source length and unknown words.

    Attributes:
        pairs: The test set.
        scored: Translations and scores by search.
        num_unknown: Number of unknown source tokens of each pair.
        language: Code of the target language.
    """

    pairs: Sequence[SentencePair]
    scored: dict[str, Scored]
    num_unknown: Sequence[int]
    language: str

    def as_dict(self) -> dict[str, Any]:
        """Return the scores by search, ``greedy`` and ``beam``."""
        return as_metrics(self.scored)

    def __repr__(self) -> str:
        name, last = list(self.scored.items())[-1]
        sources, references = [pair.source for pair in self.pairs], [pair.target for pair in self.pairs]
        lengths = by_source_length(sources, last.texts, references, self.language)
        tables = [
            score_table({title: each.card for title, each in self.scored.items()}),
            bucket_table(f"source words ({name})", lengths),
        ]
        if any(self.num_unknown):
            unknown = by_unknown_words(self.num_unknown, last.texts, references, self.language)
            tables.append(bucket_table(f"unknown words ({name})", unknown))
        return "\n\n".join(tables)


def evaluation(
    translator: Translator, pairs: Sequence[SentencePair], search: Search, files: Sequence[Path]
) -> Evaluation:
    """Score the translations of a test set; warn if most of its source words are unknown.

    Args:
        translator: The model.
        pairs: The test set.
        search: The search, in addition to greedy search.
        files: Source and reference, for the warning.
    """
    num_unknown = [len(translator.unknown_tokens(pair.source)) for pair in pairs]
    share = sum(num_unknown) / max(1, sum(map(len, text_words([pair.source for pair in pairs]))))
    if share > 0.5:
        warn(
            f"{share:.0%} of the source words are unknown to the model: is {files[0]} in the "
            f"model's source language, and not exchanged with {files[1]}?"
        )
    announce(f"translating {len(pairs):,} sentences")
    scored = score_searches(translator, pairs, search, with_interval=True)
    return Evaluation(pairs, scored, num_unknown, translator.target_language)
