"""Which models there are: the choices of the family that go together, and a cover of all pairs."""

from functools import cache
from itertools import combinations, product

from seq2seq.attention.registry import SCORES
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.option_rules import counting, refusals

CHOICES = {
    "model.decoder": DECODERS.names(),
    "model.cell": ["gru", "lstm"],
    "attention.score": SCORES.names(),
    "model.initial_state": ["encoder", "zeros"],
    "model.tying": ["none", "output", "all"],
    "model.readout_size": [None, 8],
    "model.num_layers": [1, 2],
    "model.bidirectional": [True, False],
    "model.query": ["state", "state_and_token"],
    "model.input_feeding": [True, False],
    "data.reverse_source": [False, True],
    "model.dropout_by_sentence": [False, True],
}
"""Values by key; embeddings have 8 numbers, so that a readout of 8 can be tied."""


def goes_together(chosen):
    """Whether the program takes these values."""
    is_tied = chosen["model.tying"] != "none"
    return not refusals(chosen) and (chosen["model.readout_size"] == 8 or not is_tied)


@cache
def every():
    """All combinations that differ in what counts."""
    found = {}
    for values in product(*CHOICES.values()):
        chosen = dict(zip(CHOICES, values, strict=True))
        if goes_together(chosen):
            found.setdefault(tuple(counting(chosen).items()), chosen)
    return list(found.values())


@cache
def cover():
    """Few combinations in which all pairs of values occur that occur at all."""
    pairs = [pairs_of(each) for each in every()]
    left, chosen = set().union(*pairs), []
    while left:
        best = max(range(len(pairs)), key=lambda place: len(pairs[place] & left))
        left -= pairs[best]
        chosen.append(every()[best])
    return chosen


def pairs_of(chosen):
    """Pairs of values that count."""
    return frozenset(combinations(sorted(counting(chosen).items(), key=str), 2))


def name_of(chosen):
    """What tells it from others."""
    return " ".join(f"{key.partition('.')[2]}={value}" for key, value in counting(chosen).items())
