"""Translate a test set with greedy and beam search, and score the translations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joined_words import text_words
from seq2seq.common.progress import announce, counted, warn
from seq2seq.data.text import SentencePair
from seq2seq.decoding.search import GREEDY, Search
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.bleu import cased_bleu
from seq2seq.evaluation.score_card import (
    ScoreCard,
    by_source_length,
    by_unknown_words,
    group_table,
    score_card,
    score_table,
)


def score_searches(
    translator: Translator,
    pairs: Sequence[SentencePair],
    search: Search,
    *,
    with_interval: bool = False,
    metrics: Mapping[str, Any] | None = None,
) -> dict[str, ScoreCard]:
    """Score the translations of greedy search, with the length limits of `search`, and of that if it is a beam search.

    The other options are those of `score_card`.

    Returns:
        Scores by the name of the search: ``greedy``, then for example ``beam 5``.
    """
    searches = {"greedy": replace(GREEDY, min_ratio=search.min_ratio, max_ratio=search.max_ratio)}
    if search.beam_size > 1:
        searches[f"beam {search.beam_size}"] = search
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    options: dict[str, Any] = {"with_interval": with_interval, "metrics": metrics, "sources": sources}
    options |= {"language": translator.target_language, "languages": [pair.languages for pair in pairs]}
    scored = {}
    for name, each in searches.items():
        found = translator.translate(sources, search=each)
        card = score_card([translation.text for translation in found], references, **options)
        scored[name] = replace(
            card, confidences=[each.score / max(1, len(each.target_tokens)) for each in found]
        )
    return scored


def as_metrics(scored: dict[str, ScoreCard]) -> dict[str, Any]:
    """Return the scores as JSON values by search, ``greedy`` and ``beam``."""
    return {name.split()[0]: each.as_dict() for name, each in scored.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """The scores of a model on a test set; printed, tables of them, also by source length and unknown words."""

    pairs: Sequence[SentencePair]
    scored: dict[str, ScoreCard]
    num_unknown: Sequence[int]
    language: str

    def as_dict(self) -> dict[str, Any]:
        """Return the scores by search, ``greedy`` and ``beam``."""
        return as_metrics(self.scored)

    def __repr__(self) -> str:
        name, last = list(self.scored.items())[-1]
        sources, references = zip(*(pair.texts for pair in self.pairs), strict=True)
        languages = [pair.languages for pair in self.pairs]
        groups = {"source words": by_source_length(sources, languages)}
        if any(self.num_unknown):
            groups["unknown words"] = by_unknown_words(self.num_unknown)
        tables = [
            group_table(f"{title} ({name})", places, last.texts, references, self.language, languages)
            for title, places in groups.items()
        ]
        return "\n\n".join([score_table(self.scored), *tables])


def unknown_counts(unknown: Callable[[str], list[str]], texts: Sequence[str], *files: object) -> list[int]:
    """Count the unknown tokens of each text of a source file; warn if most of its words are unknown.

    `unknown` see `Tokenizer.unknown`; a second file is that of the target.
    """
    counts = [len(unknown(text)) for text in texts]
    share = sum(counts) / max(1, sum(map(len, text_words(texts))))
    if share > 0.5:
        exchanged = f", and not exchanged with {files[1]}" if len(files) > 1 else ""
        warn(
            f"{share:.0%} of the source words are unknown to the model: is {files[0]} in the model's source language"
            f"{exchanged}?"
        )
    return counts


def evaluation(
    translator: Translator,
    pairs: Sequence[SentencePair],
    search: Search,
    files: Sequence[Path],
    further: Sequence[Sequence[str]] = (),
) -> Evaluation:
    """Score the translations of a test set; warn if most of its source words are unknown.

    `files` are those of source and reference, for the warning; `further` are other references of all sentences, blank where
    there is none: with all of them, ``bleu_all`` is computed.
    """
    num_unknown = unknown_counts(translator.unknown_tokens, [pair.texts[0] for pair in pairs], *files)
    announce(f"translating {counted(len(pairs), 'sentence')}")
    scored = score_searches(translator, pairs, search, with_interval=True)
    if further:
        references = [pair.target for pair in pairs]
        for name, card in scored.items():
            found = cased_bleu(card.texts, references, translator.target_language, further=further)
            scored[name] = replace(card, scores={**card.scores, "bleu_all": found})
    return Evaluation(pairs, scored, num_unknown, translator.target_language)
