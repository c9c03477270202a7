"""Whether a model's words depend on its attention: what is left of them with other weights.

A prediction, the likeliest token after some others, stays or does not when the weights of its step
are others: Moradi, Kambhatla and Sarkar, "Interrogating the explanatory power of attention in
neural machine translation", 2019, of the words of translations. Rank correlations with gradients
and with leaving out words are those of Jain and Wallace, "Attention is not explanation", 2019, who
studied labels that classifiers give whole texts. What follows is disputed: that other weights give
the same word does not say that these had no part in it (Wiegreffe and Pinter, "Attention is not not
explanation", 2019); that they give another one does say that they had.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHANGES = {
    "most_attended_erased": "stay: most attended erased",
    "another_erased": "stay: another one erased",
    "most_attended_alone": "stay: most attended alone",
    "even": "stay: even weights",
    "permuted": "stay: permuted weights",
    "no_context": "stay: no context",
}
"""Other weights of a step, and their titles in a table."""

AGREEMENTS = {
    "attention_gradient": "tau: attention, gradient",
    "attention_leave_one_out": "tau: attention, left out",
    "gradient_leave_one_out": "tau: gradient, left out",
}
"""Pairs of measures that `rank_agreement` compares."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A sentence whose translation was probed, ``<eos>`` left out.

    Attributes:
        words: of the translation, for each token that which it is part of.
        stays: whether each prediction stays with other weights, a row for each of `CHANGES`.
        agreement: see `rank_agreement`.
    """

    words: list[str]
    stays: NDArray[np.bool_]
    agreement: NDArray[np.float64]


def kendall_tau(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Kendall's tau-b: the rank correlation, with s_ij = sign(x_i - x_j) of either

        sum of s_ij t_ij / sqrt(sum of s_ij^2 sum of t_ij^2);  NaN where all of one are equal

    Kendall, "The treatment of ties in ranking problems", 1945.
    """
    one, other = (np.sign(np.subtract.outer(each, each)) for each in (first, second))
    norm = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / norm) if norm else np.nan


def rank_agreement(*measures: NDArray[np.floating]) -> NDArray[np.float64]:
    """Kendall's tau of each two of `AGREEMENTS`, for each token (3, T).

    Args:
        measures: attention, gradient and leave-one-out, over the source words (T, W).
    """
    return np.array([
        [kendall_tau(*rows) for rows in zip(*each, strict=True)]
        for each in combinations(measures, 2)
    ])  # fmt: skip


def faithfulness(
    probed: Sequence[Probed], is_function: Callable[[str], bool] | None
) -> dict[str, dict[str, float | None]]:
    """Means over tokens, by name, of function words, of content words, and of all.

    Args:
        probed: the sentences.
        is_function: whether a word is a function word; None where nobody knows.
    """
    words = [word for each in probed for word in each.words]
    rows = np.concatenate([np.concatenate([each.stays, each.agreement]) for each in probed], axis=1)
    groups = {"all": np.ones(len(words), dtype=bool)}
    if is_function is not None:
        is_closed = np.array([is_function(word) for word in words])
        groups = {"function": is_closed, "content": ~is_closed} | groups
    return {group: _means(rows[:, chosen]) for group, chosen in groups.items()}


def _means(rows: NDArray[np.float64]) -> dict[str, float | None]:
    """The number of tokens, and the means of what is a number."""
    known = (row[np.isfinite(row)] for row in rows)
    means = (float(row.mean()) if len(row) else None for row in known)
    return {"num_tokens": rows.shape[1], **dict(zip((*CHANGES, *AGREEMENTS), means, strict=True))}


def faithfulness_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """What `faithfulness` gives, for a terminal: per cent of the tokens, and tau."""
    lines = ["".join([" " * 28, *(f"{group:>10}" for group in found)])]
    for name, title in ({"num_tokens": "tokens"} | CHANGES | AGREEMENTS).items():
        form = ",.0f" if name == "num_tokens" else ".1%" if name in CHANGES else ".2f"
        values = (each[name] for each in found.values())
        cells = ("-" if value is None else format(value, form) for value in values)
        lines.append("".join([f"{title:<28}", *(f"{cell:>10}" for cell in cells)]))
    return "\n".join(lines)
