"""Beam search by its rules, for one sentence, over the oracle of a model."""

import math
from dataclasses import dataclass, field

import torch

PADDING, BEGIN, END = 1, 2, 3


@dataclass
class Rules:
    """What a search is asked for."""

    size: int
    num_best: int = 1
    penalty: str = "none"
    alpha: float = 0.6
    min_ratio: float = 0.0
    max_ratio: float = 1.0
    max_extra: int = 3
    prefix: list = field(default_factory=list)

    def maximum(self, source_length):
        """Most tokens, the end among them."""
        free = max(1, math.floor(self.max_ratio * source_length) + self.max_extra)
        return max(free, len(self.prefix) + 1)

    def minimum(self, source_length):
        """Fewest tokens."""
        free = max(1, math.floor(self.max_ratio * source_length) + self.max_extra)
        return min(math.floor(self.min_ratio * source_length), free)

    def rank(self, score, length):
        """By what finished hypotheses are compared."""
        divisors = {"none": 1, "average": length, "gnmt": ((5 + length) / 6) ** self.alpha}
        return score / divisors[self.penalty]

    def allows(self, token, length, source_length):
        """Whether a token may be the one that makes a hypothesis that long."""
        if length <= len(self.prefix):
            return token == self.prefix[length - 1]
        too_early = token == END and length < self.minimum(source_length)
        return token not in (PADDING, BEGIN) and not too_early


@dataclass
class Hypothesis:
    """Tokens with their log-probability, attention, and the states of all members behind them."""

    ids: tuple
    score: float
    weights: list
    states: list


@torch.no_grad()
def beam(members, sentence, rules):
    """The best hypotheses of an ensemble; nothing leaves early."""
    memories = [member.encode(sentence) for member in members]
    states = [member.start(memory) for member, memory in zip(members, memories, strict=True)]
    live, finished = [Hypothesis((), 0.0, [], states)], []
    for length in range(1, rules.maximum(len(sentence)) + 1):
        grown = [new for old in live for new in _grown(members, memories, old, rules)]
        grown.sort(key=lambda hypothesis: -hypothesis.score)
        chosen = grown[: rules.size - len(finished)]
        is_last = length == rules.maximum(len(sentence))
        finished += [each for each in chosen if each.ids[-1] == END or is_last]
        live = [each for each in chosen if each.ids[-1] != END]
    finished.sort(key=lambda hypothesis: -rules.rank(hypothesis.score, len(hypothesis.ids)))
    return finished[: rules.num_best]


def _grown(members, memories, old, rules):
    """A hypothesis with each token that may follow it."""
    token, length = (old.ids or (BEGIN,))[-1], len(old.ids) + 1
    steps = [
        member.step(token, state, memory)
        for member, state, memory in zip(members, old.states, memories, strict=True)
    ]
    pairs = list(zip(members, steps, strict=True))
    likely = sum(torch.softmax(member.logits(step[0]), 0) for member, step in pairs) / len(pairs)
    weights = sum(step[2] for step in steps) / len(steps)
    source_length = len(memories[0][0])
    for number, probability in enumerate(likely.tolist()):
        if rules.allows(number, length, source_length):
            yield Hypothesis(
                (*old.ids, number),
                old.score + math.log(probability),
                [*old.weights, weights],
                [step[1] for step in steps],
            )


@torch.no_grad()
def forced(members, sentence, ids):
    """Log-probability of a translation."""
    rules = Rules(size=1, max_extra=len(ids), prefix=list(ids))
    memories = [member.encode(sentence) for member in members]
    states = [member.start(memory) for member, memory in zip(members, memories, strict=True)]
    hypothesis = Hypothesis((), 0.0, [], states)
    for _ in ids:
        (hypothesis,) = _grown(members, memories, hypothesis, rules)
    return hypothesis
