"""The last lines of a run: its scores, and what to do next."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.command_line.calling import as_called
from seq2seq.evaluation.metrics import METRICS
from seq2seq.plain_text import one_line

Metrics = dict[str, Any]
"""What ``metrics.json`` holds: scores by split, then facts of the run."""


def summary(
    metrics: Metrics, run_dir: Path, monitored: str = "", to_try: Sequence[str] = ()
) -> str:
    """Where the results are, the scores, and what to do next, with sentences for it.

    Of the scores, those that have a brief title, and the one that was monitored.
    """
    scores = [
        line
        for split, card in metrics.items()
        if isinstance(card, dict)
        for line in _score_lines(split, card, monitored)
    ]
    seconds = round(metrics["seconds"])
    lines = [
        *scores,
        *_signature_lines(metrics),
        f"time        {seconds // 60}:{seconds % 60:02d}",
        *_share_lines(metrics),
        f"results     {run_dir}",
        f"look        tensorboard --logdir {run_dir.parent}",
        f"translate   {as_called('seq2seq translate')} {run_dir} < sentences.txt",
        *(f"{'' if place else 'try':<12}{text}" for place, text in enumerate(to_try)),
    ]
    return "\n".join(map(one_line, lines))


def _signature_lines(metrics: Metrics) -> list[str]:
    """How BLEU was counted."""
    cards = [card for card in metrics.values() if isinstance(card, dict)]
    signatures = dict.fromkeys(card.get("bleu_signature", "unknown") for card in cards)
    return [f"BLEU is     {signature}" for signature in signatures]


def _share_lines(metrics: Metrics) -> list[str]:
    """What training cost besides the model; none where a finished training was continued."""
    if "tensorboard_share" not in metrics:
        return []
    names = ("tensorboard_share", "data_share", "padding_share")
    tensorboard, data, padding = (_number(metrics.get(name), ".1%") for name in names)
    return [f"of training {tensorboard} on TensorBoard, {data} waiting for data; padding {padding}"]


def _score_lines(split: str, card: Metrics, monitored: str) -> list[str]:
    """The scores of a split: of greedy search and, where there was one, of beam search."""
    searches = [(split, card, "greedy")]
    if card.get("beam"):
        searches.append(("", card["beam"], "beam search"))
    return [
        f"{title:<11} {_briefly(scores, monitored)}   "
        f"({scores['num_sentences']:,} sentences, {search})"
        for title, scores, search in searches
    ]


def _briefly(scores: Metrics, monitored: str) -> str:
    briefs = {name: each.brief for name, each in METRICS.built_in.items() if each.brief}
    if monitored in scores:
        briefs = {monitored: METRICS[monitored].title} | briefs
    return "   ".join(
        f"{brief} {_number(scores.get(name), '.1f')}" for name, brief in briefs.items()
    )


def _number(value: float | None, form: str) -> str:
    """A number, or the sign for one that was none."""
    return "–" if value is None else format(value, form)
