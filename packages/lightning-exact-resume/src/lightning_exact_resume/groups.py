"""Parameters with rates and weight decay of their own, and frozen ones, by the arguments ``groups`` and ``decay_vectors`` of an optimizer."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torch.optim import Optimizer

from lightning_exact_resume.checkpoint import LOG

KEYWORDS = {"groups", "decay_vectors"}
"""Keywords of a factory of optimizers that are not passed on."""


@dataclass(frozen=True)
class Group:
    """Parameters that differ from the others.

    Attributes:
        pattern: Regular expression that is found in their names, such as ``^encoder`` or ``embedding``.
        lr: Their maximum rate, on which the schedule acts as on ``optimizer.lr``; None: that.
        weight_decay: None: ``optimizer.weight_decay``.
        frozen: Whether they are not trained; or the number of epochs, from the first, in which they are not.
    """

    pattern: str
    lr: float | None = None
    weight_decay: float | None = None
    frozen: bool | int = False

    @classmethod
    def of(cls, given: Mapping[str, Any], key: str) -> "Group":
        """Return what is given at a key.

        Raises:
            ValueError: A key or value is wrong.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or "pattern" not in given or given.keys() - known:
            raise ValueError(f"{key}={given}: give {', '.join(known)}, of which pattern is needed")
        group = cls(**given)
        for name, least in (("lr", 0), ("weight_decay", 0), ("frozen", 0)):
            value = getattr(group, name)
            is_number = isinstance(value, int | float) and (name == "frozen" or not isinstance(value, bool))
            if value is not None and not (is_number and value >= least):
                raise ValueError(f"{key}.{name}={value}: expected a number from {least}")
        try:
            re.compile(str(group.pattern))
        except re.error as error:
            raise ValueError(f"{key}.pattern={group.pattern}: no regular expression: {error}") from error
        return group

    def is_frozen(self, epoch: int) -> bool:
        """Return whether its parameters are not trained in an epoch, counted from 0."""
        return self.frozen if isinstance(self.frozen, bool) else epoch < self.frozen


REST = Group("")
"""The parameters that no pattern is found in."""


class ParameterGroups(Callback):
    """A factory of optimizers whose parameters are in groups; as a callback it leaves frozen ones untrained.

    A parameter belongs to the first group whose pattern is found in its name. A frozen one has no gradient when the
    optimizer makes its step, and none in the norm that is clipped; as this follows from the epoch, a run that continues needs
    no state.

    Args:
        factory: Returns the optimizer of parameters.
        groups: Arguments of `Group`.
        decay_vectors: Whether biases and the scales of norms, parameters of one dimension, have weight decay.
    """

    def __init__(
        self,
        factory: Callable[..., Optimizer],
        groups: Sequence[Mapping[str, Any]] = (),
        decay_vectors: bool = True,
    ) -> None:
        self.factory, self.given, self.decay_vectors = factory, groups, decay_vectors
        self._frozen: list[tuple[Group, nn.Parameter]] = []

    @classmethod
    def taken_from(cls, factory: Callable[..., Optimizer]) -> Callable[..., Optimizer]:
        """Return a factory with groups in place of one that has them among its `KEYWORDS`; another one as it is."""
        given = dict(getattr(factory, "keywords", {}))
        own = {name: given.pop(name) for name in KEYWORDS if name in given}
        return (
            cls(partial(factory.func, *factory.args, **given), **own)
            if isinstance(factory, partial) and own
            else factory
        )

    def __call__(self, parameters: Iterable[tuple[str, nn.Parameter]]) -> Optimizer:
        """Return the optimizer of named parameters, and log a table of the groups.

        Raises:
            ValueError: A group is wrong, or its pattern is found in no name that an earlier one leaves.
        """
        if not isinstance(self.given, list | tuple):
            raise ValueError(f"groups={self.given}: expected a list of groups, each with its pattern")
        groups = [Group.of(each, f"groups[{n}]") for n, each in enumerate(self.given)]
        named = [*parameters]
        found = [next((g for g in groups if re.search(g.pattern, name)), REST) for name, _ in named]
        for number, group in enumerate(groups):
            if group not in found:
                parts = ", ".join(dict.fromkeys(name.rpartition(".")[0] for name, _ in named))
                raise ValueError(
                    f"groups[{number}].pattern={group.pattern}: is found in the name of no parameter, or an earlier "
                    f"group has them; those of {parts}"
                )
        self._frozen = [(group, each) for group, (_, each) in zip(found, named, strict=True) if group.frozen]
        members: dict[tuple[Group, bool], list[nn.Parameter]] = {}
        for group, (_, parameter) in zip(found, named, strict=True):
            decays = self.decay_vectors or parameter.ndim > 1
            members.setdefault((group, decays), []).append(parameter)
        order = sorted(members, key=lambda key: ([*groups, REST].index(key[0]), not key[1]))
        options = []
        for group, decays in order:
            own: dict[str, Any] = {"params": members[group, decays]}
            own |= {} if group.lr is None else {"lr": group.lr}
            own |= {} if group.weight_decay is None else {"weight_decay": group.weight_decay}
            options.append(own | ({} if decays else {"weight_decay": 0.0}))
        optimizer = self.factory(options)
        for (group, decays), made in zip(order, optimizer.param_groups, strict=True):
            self._tell(group, made, only_vectors=not decays)
        return optimizer

    @staticmethod
    @rank_zero_only
    def _tell(group: Group, made: Mapping[str, Any], *, only_vectors: bool) -> None:
        number = sum(parameter.numel() for parameter in made["params"])
        frozen = group.frozen if isinstance(group.frozen, bool) else bool(group.frozen)
        until = "" if isinstance(group.frozen, bool) else f" until epoch {group.frozen + 1:,}"
        values = [
            f"{n} {made[n]:.3g}" for n in ("lr", "weight_decay") if isinstance(made.get(n), int | float)
        ]
        values += [f"frozen{until}"] if frozen else []
        vectors = ", biases and norms" if only_vectors else ""
        LOG.info(
            "group       %s%s: %s parameters, %s",
            group.pattern or "all others", vectors, f"{number:,}", ", ".join(values),
        )  # fmt: skip

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        """Take the gradients of frozen parameters away, which the optimizer then skips."""
        for group, parameter in self._frozen:
            if group.is_frozen(trainer.current_epoch):
                parameter.grad = None
