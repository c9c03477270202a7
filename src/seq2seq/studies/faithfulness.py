"""Faithfulness of attention: which predictions change when the attention weights are changed.

A prediction is the most probable next token. It stays the same or changes when the weights of its step are
replaced: Moradi, Kambhatla and Sarkar, "Interrogating the explanatory power of attention in
neural machine translation", 2019, for translations. Rank correlations with the effects of
leaving out words follow Jain and Wallace, "Attention is not explanation", 2019, who
studied classifiers. The interpretation is disputed: if other weights give the same word, the original weights
may still have contributed (Wiegreffe and Pinter, "Attention is not not explanation", 2019); if they give
another word, the original weights did contribute.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHANGES = {
    "most_attended_erased": "same: most attended removed",
    "another_erased": "same: another one removed",
    "most_attended_alone": "same: only most attended",
    "even": "same: uniform weights",
    "permuted": "same: permuted weights",
    "no_context": "same: no context",
}
"""Changes of the weights of a step, and their titles in a table."""

EFFECT_TAU = "effect_tau"
"""The name of how weights and effects agree."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The results for the translation of one sentence, without ``<eos>``.

    Attributes:
        words: For each token of the translation, the word that it is part of.
        stays: True where the prediction stays the same, a row for each of `CHANGES`.
        taus: Of each token, see `effect_taus`.
    """

    words: list[str]
    stays: NDArray[np.bool_]
    taus: NDArray[np.float64]


def kendall_tau(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Return Kendall's tau-b, a rank correlation; NaN if all values of one side are equal.

    Kendall, "The treatment of ties in ranking problems", 1945.
    """
    from scipy.stats import kendalltau  # takes a second

    return np.nan if len(first) < 2 else float(kendalltau(first, second).statistic)


def effect_statistics(
    weights: Sequence[NDArray[np.floating]], effects: Sequence[NDArray[np.floating]]
) -> dict[str, float]:
    """Return the mean of `effect_taus` over the target tokens of sentences, without ``<eos>``; empty if none is defined.

    Weights and effects are of each sentence (T, S).
    """
    rows = [effect_taus(one[:-1], other[:-1]) for one, other in zip(weights, effects, strict=True)]
    taus = np.concatenate([np.empty(0), *rows])
    taus = taus[np.isfinite(taus)]
    return {EFFECT_TAU: float(taus.mean())} if len(taus) else {}


def effect_taus(weights: NDArray[np.floating], effects: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return Kendall's tau of weight and effect over the source tokens without ``<eos>``, for each target token (T,).

    Weights and effects, those of `seq2seq.decoding.effect.leave_one_out`, are (T, S). NaN where tau is not defined, as
    with one source token.
    """
    rows = zip(weights[:, :-1], effects[:, :-1], strict=True)
    return np.array([kendall_tau(*row) for row in rows], dtype=np.float64)


def faithfulness(
    probed: Sequence[Probed], is_function: Callable[[str], bool] | None
) -> dict[str, dict[str, float | None]]:
    """Return means over tokens, by name: of function words, of content words, and of all words.

    Without `is_function`, which tells function words, all words are one group.
    """
    words = [word for each in probed for word in each.words]
    rows = np.concatenate([np.vstack([each.stays, each.taus]) for each in probed], axis=1)
    groups = {"all": np.ones(len(words), dtype=bool)}
    if is_function is not None:
        is_closed = np.array([is_function(word) for word in words])
        groups = {"function": is_closed, "content": ~is_closed} | groups
    return {group: _means(rows[:, chosen]) for group, chosen in groups.items()}


def _means(rows: NDArray[np.float64]) -> dict[str, float | None]:
    """Return the number of tokens, and the means of the finite values of each row."""
    known = (row[np.isfinite(row)] for row in rows)
    means = (float(row.mean()) if len(row) else None for row in known)
    return {"num_tokens": rows.shape[1], **dict(zip((*CHANGES, EFFECT_TAU), means, strict=True))}


def faithfulness_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the result of `faithfulness` as a table: percent of the tokens, and tau."""
    lines = ["".join([" " * 28, *(f"{group:>10}" for group in found)])]
    for name, title in ({"num_tokens": "tokens"} | CHANGES | {EFFECT_TAU: "tau: attention, effect"}).items():
        form = ",.0f" if name == "num_tokens" else ".1%" if name in CHANGES else "z.2f"
        values = (each[name] for each in found.values())
        cells = ("-" if value is None else format(value, form) for value in values)
        lines.append("".join([f"{title:<28}", *(f"{cell:>10}" for cell in cells)]))
    return "\n".join(lines)
