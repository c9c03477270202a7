"""Metrics of the user's own: functions, objects that hold a model such as COMET's, and classes of torchmetrics."""

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

from seq2seq.common.errors import InputError

Texts = Sequence[str]


def own_scores(
    metrics: Mapping[str, Any], hypotheses: Texts, references: Texts, language: str, sources: Texts
) -> dict[str, float]:
    """Compute the scores of metrics that are not this program's.

    A metric of torchmetrics is called with translations and references; anything else with translations, references
    and the code of the language, and with ``sources=…`` if it has such an argument.

    Returns:
        Scores by name; those of a metric with several parts as ``NAME_PART``.

    Raises:
        InputError: A metric returns no number.
    """
    scores: dict[str, float] = {}
    for name, metric in metrics.items():
        if isinstance(metric, partial) and inspect.isclass(metric.func):
            raise InputError(
                f"module.metrics.{name}: _partial_=true is for functions; leave it out for a class"
            )
        if all(hasattr(metric, method) for method in ("update", "compute", "reset")):
            several = takes_several_references(metric)
            targets = [[each] if several else each for each in references]
            found = metric(list(hypotheses), targets)  # of these texts alone, in this process alone
            metric.reset()
        else:
            further = {"sources": sources} if "sources" in inspect.signature(metric).parameters else {}
            found = metric(hypotheses, references, language, **further)
        parts = (
            {f"{name}_{part}": each for part, each in found.items()}
            if isinstance(found, Mapping)
            else {name: found}
        )
        scores |= {
            key: _number(each, len(references), f"module.metrics.{name}") for key, each in parts.items()
        }
    return scores


def takes_several_references(metric: Any) -> bool:
    """Return whether a metric of torchmetrics takes a list of references for each translation, by its annotations.

    `BLEUScore` does; with a plain list it would take each letter for a reference, without an error.
    """

    def depth(hint: Any) -> int:
        origin = get_origin(hint)
        return max(map(depth, get_args(hint)), default=0) + (
            inspect.isclass(origin) and issubclass(origin, Sequence)
        )

    hints = [hint for name, hint in get_type_hints(type(metric).update).items() if name != "return"]
    return len(hints) > 1 and depth(hints[1]) > 1


def _number(value: Any, num_sentences: int, key: str) -> float:
    """Return a score as a number: the mean if there is one for each sentence."""
    if isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1:  # a tensor, too
        if len(value) == num_sentences:
            return sum(float(each) for each in value) / num_sentences
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{key}: a number is needed, not {type(value).__name__}") from error
