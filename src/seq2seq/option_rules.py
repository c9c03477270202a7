"""Options that count only beside others: what the schema cannot say of one key alone.

All here is over plain values by dotted key, as the record of a run holds them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Where:
    """That a key has one of some values or, with `but_not`, none of them."""

    key: str
    values: tuple[Any, ...]
    but_not: bool = False

    def holds(self, given: Mapping[str, Any]) -> bool:
        """Whether it is so; True where the key is not there."""
        return self.key not in given or (given[self.key] in self.values) is not self.but_not

    def __str__(self) -> str:
        values = " or ".join(map(_text, self.values))
        return f"{self.key}{' other than ' if self.but_not else '='}{values}"


def _given(key: str) -> Where:
    return Where(key, (None,), but_not=True)


SEARCHES = Where("sweep.sampler", ("tpe", "random"))
KNOWN_WITHOUT_SIZE = ("average", "bilinear", "dot", "gaussian", "scaled_dot")
ATTENDS = Where("model.decoder", ("context", "plain"), but_not=True)
BEAM = Where("decoding.beam", (1,), but_not=True)

COUNTS: dict[str, tuple[Where, ...]] = {
    "data.address": (Where("data.download", (True,)),),
    "model.query": (
        Where("model.decoder", ("conditional", "context", "luong", "plain"), but_not=True),
    ),
    "model.input_feeding": (
        Where("model.decoder", ("bahdanau", "conditional", "context", "plain"), but_not=True),
    ),
    "attention.score": (ATTENDS,),
    "attention.dropout": (ATTENDS,),
    "attention.kind": (ATTENDS,),
    "attention.coverage": (ATTENDS,),
    "attention.heads": (ATTENDS,),
    "attention.hidden_size": (ATTENDS, Where("attention.score", KNOWN_WITHOUT_SIZE, but_not=True)),
    "attention.window": (ATTENDS, Where("attention.kind", ("local_m", "local_p"))),
    "attention.normaliser": (ATTENDS, Where("attention.kind", ("monotonic",), but_not=True)),
    "data.links": (Where("optim.guidance", (0,), but_not=True),),
    "optim.ema_decay": (Where("optim.averaging", ("ema",)),),
    "optim.average_from_epoch": (Where("optim.averaging", ("epochs",)),),
    "optim.final_fraction": (Where("optim.schedule", ("cosine",)),),
    "optim.plateau_factor": (Where("optim.schedule", ("plateau",)),),
    "optim.plateau_patience": (Where("optim.schedule", ("plateau",)),),
    "decoding.length_penalty": (BEAM,),
    "decoding.alpha": (BEAM, Where("decoding.length_penalty", ("gnmt",))),
    "tensorboard.heatmaps": (ATTENDS,),
    "tensorboard.draw_every": (ATTENDS,),
    "tensorboard.panel.first": (ATTENDS,),
    "tensorboard.panel.indices": (ATTENDS,),
    "tensorboard.panel.texts": (ATTENDS,),
    "sweep.trials": (SEARCHES,),
    "sweep.sampler_seed": (SEARCHES,),
    "sweep.pruner": (SEARCHES,),
    "sweep.pruner_warmup": (SEARCHES, Where("sweep.pruner", ("none",), but_not=True)),
    "sweep.min_seeds": (Where("sweep.sampler", ("seeds",)),),
    "sweep.max_seeds": (Where("sweep.sampler", ("seeds",)),),
    "sweep.tuned": (Where("sweep.sampler", ("tuned",)),),
    "sweep.significance": (Where("sweep.sampler", ("seeds",)),),
}
"""Where an option has an effect: all of these hold."""

NEEDS: tuple[tuple[Where, Where, Any], ...] = (
    (Where("model.decoder", ("plain",)), Where("model.initial_state", ("encoder",)), "encoder"),
    (_given("data.tokenizer.sampling"), Where("optim.guidance", (0,)), 0),
    (Where("data.both_directions", (True,)), Where("data.tokenizer.joint", (True,)), True),
    (Where("attention.coverage", (True,)), Where("attention.score", ("additive",)), "additive"),
    (Where("attention.kind", ("local_m", "local_p")), _given("attention.window"), 5),
    (Where("attention.score", ("additive",)), _given("attention.hidden_size"), 128),
    (Where("optim.schedule", ("plateau",)), Where("optim.warmup_steps", (0,)), 0),
)
"""What is refused: the first of two without the second, for example with the value beside them."""


def refusals(given: Mapping[str, Any]) -> list[str]:
    """A line for each value that others rule out; those without effect rule nothing out."""
    values = counting(given)
    return [
        f"{_told(which.key, values)} does not go with {_told(needed.key, values)}: set "
        f"{needed.key}={_text(example)}"
        for which, needed, example in NEEDS
        if which.key in values and which.holds(values) and not needed.holds(values)
    ]


def without_effect(given: Mapping[str, Any]) -> dict[str, Where]:
    """The options without effect, each with what would have to hold."""
    unmet = (
        (key, next((where for where in COUNTS[key] if not where.holds(given)), None))
        for key in COUNTS.keys() & given.keys()
    )
    return {key: where for key, where in unmet if where is not None}


def counting(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that have an effect."""
    idle = without_effect(given)
    return {key: value for key, value in given.items() if key not in idle}


def key_of(override: str) -> str:
    """The key that an argument of the command line sets."""
    return override.lstrip("+~").partition("=")[0]


def warnings(given: Mapping[str, Any], overrides: Iterable[str]) -> list[str]:
    """A line for each option that the command line sets without effect."""
    idle = without_effect(given)
    return [
        f"WARNING: {override} has no effect with {_told(where.key, given)}"
        for override in overrides
        if (where := idle.get(key_of(override))) and given[key_of(override)] is not None
    ]


def _told(key: str, given: Mapping[str, Any]) -> str:
    return f"{key}={_text(given[key])}"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
