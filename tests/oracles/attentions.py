"""Attentions by their equations: one query of one sentence, loops over its tokens.

Nothing of the code that it is held against: parameters by name, no padding, no state but the list
of the weights so far.
"""

import math

import torch


class AttentionOracle:
    """An attention of that form with these parameters; `training` says which monotonic one."""

    def __init__(self, form, parameters, *, training):
        self.form, self._parameters, self._training = form, parameters, training

    def attend(self, query, memory, past, prefix=""):
        """Context and weights; `past` has the weights of all steps before, of all heads."""
        if self.form.heads == 1 or prefix:
            weights = self._weights(query, memory, past, prefix)
            return weights @ memory, weights
        contexts, every = [], []
        for head in range(self.form.heads):
            own_query = self._parameters[f"queries.{head}.weight"] @ query
            keys = memory @ self._parameters[f"keys.{head}.weight"].T
            own_past = [weights[head] for weights in past]
            every.append(self._weights(own_query, keys, own_past, f"heads.{head}."))
            contexts.append(self._parameters[f"values.{head}.weight"] @ (every[-1] @ memory))
        return torch.cat(contexts), torch.stack(every)

    def _weights(self, query, keys, past, prefix):
        scores = self._scores(query, keys, past, prefix)
        if self.form.kind == "monotonic":
            energies = scores + self._parameters[f"{prefix}alignment.offset"]
            last = past[-1] if past else torch.eye(len(keys), dtype=keys.dtype)[0]
            return (expected if self._training else decided)(energies, last)
        window, bonus = range(len(keys)), torch.zeros_like(scores)
        if self.form.kind == "local_m":
            center = min(len(past), len(keys) - 1)
            window = [j for j in window if abs(j - center) <= self.form.window]
        if self.form.kind == "local_p":
            inner = torch.tanh(self._parameters[f"{prefix}alignment.place.0.weight"] @ query)
            place = self._parameters[f"{prefix}alignment.place.2.weight"][0] @ inner
            center = len(keys) / (1 + torch.exp(-place))
            window = [j for j in window if abs(j - center.item()) <= self.form.window]
            deviation = self.form.window / 2
            distances = torch.stack([j - center for j in range(len(keys))])
            bonus = -(distances**2) / (2 * deviation**2)
        normalize = {"softmax": softmax, "sparsemax": sparsemax}[self.form.normalizer]
        weights = list(torch.zeros_like(scores))
        for j, weight in zip(window, normalize((scores + bonus)[list(window)]), strict=True):
            weights[j] = weight
        return torch.stack(weights)

    def _scores(self, query, keys, past, prefix):
        name = f"{prefix}score." + ("score." if self.form.coverage else "")
        if self.form.score == "average":
            return (keys * 0).sum(dim=1)
        if self.form.score == "scaled_dot":
            return keys @ query / math.sqrt(len(query))
        inner = keys @ self._parameters[f"{name}key_projection.weight"].T
        inner = inner + self._parameters[f"{name}query_projection.weight"] @ query
        if self.form.coverage:
            logits = keys @ self._parameters[f"{prefix}score.fertility.weight"][0]
            fertility = 2 / (1 + torch.exp(-logits))
            covered = sum(past, torch.zeros_like(fertility)) / fertility
            inner = inner + torch.outer(covered, self._parameters[f"{prefix}score.coverage_weight"])
        return torch.tanh(inner) @ self._parameters[f"{name}score_weight"]


def softmax(scores):
    """Numbers that sum to one."""
    powers = torch.exp(scores - scores.max())
    return powers / powers.sum()


def sparsemax(scores):
    """The threshold is found by bisection, and with it who is above."""
    numbers = scores.tolist()
    low, high = min(numbers) - 1, max(numbers)
    for _ in range(100):
        middle = (low + high) / 2
        total = sum(max(number - middle, 0) for number in numbers)
        low, high = (middle, high) if total > 1 else (low, middle)
    above = [j for j, number in enumerate(numbers) if number > high]
    threshold = (scores[above].sum() - 1) / len(above)
    return torch.stack([score - threshold if j in above else score * 0 for j, score in enumerate(scores)])


def expected(energies, last):
    """Raffel et al. 2017, their recurrence over tokens."""
    chosen = 1 / (1 + torch.exp(-energies))
    reached, weights = last[0], []
    for j in range(len(energies)):
        if j:
            reached = (1 - chosen[j - 1]) * reached + last[j]
        weights.append(chosen[j] * reached)
    return torch.stack(weights)


def decided(energies, last):
    """The first token with a positive energy, from the last one on."""
    weights = torch.zeros_like(energies)
    start = next((j for j, weight in enumerate(last) if weight > 0), len(energies))
    for j in range(start, len(energies)):
        if energies[j] > 0:
            weights[j] = 1
            break
    return weights
