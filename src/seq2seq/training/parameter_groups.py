"""Parameters with rates and weight decay of their own, and frozen ones: ``optimizer.groups`` and ``optimizer.decay_vectors``."""

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

from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted, tell

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
            InputError: A key or value is wrong.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or "pattern" not in given or given.keys() - known:
            raise InputError(f"{key}={given}: give {', '.join(known)}, of which pattern is needed")
        group = cls(**given)
        for name, least in (("lr", 0), ("weight_decay", 0), ("frozen", 0)):
            value = getattr(group, name)
            is_number = isinstance(value, int | float) and (name == "frozen" or not isinstance(value, bool))
            if value is not None and not (is_number and value >= least):
                raise InputError(f"{key}.{name}={value}: expected a number from {least}")
        try:
            re.compile(str(group.pattern))
        except re.error as error:
            raise InputError(f"{key}.pattern={group.pattern}: no regular expression: {error}") from error
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
        if not isinstance(groups, list | tuple):
            raise InputError(f"optimizer.groups={groups}: expected a list of groups, each with its pattern")
        self.groups = [Group.of(each, f"optimizer.groups[{n}]") for n, each in enumerate(groups)]
        self.factory, self.decay_vectors = factory, decay_vectors
        self._names: dict[int, str] = {}  # by id
        self._frozen: dict[Group, list[nn.Parameter]] = {}

    @classmethod
    def taken_from(cls, factory: Callable[..., Optimizer]) -> Callable[..., Optimizer]:
        """Return a factory with groups in place of one that has them among its `KEYWORDS`."""
        assert isinstance(factory, partial)
        given = dict(factory.keywords)
        own = {name: given.pop(name) for name in KEYWORDS if name in given}
        return cls(partial(factory.func, *factory.args, **given), **own)

    def setup(self, trainer: pl.Trainer, pl_module: Any, stage: str) -> None:
        """Learn the names of the parameters, those of the model.

        Raises:
            InputError: The pattern of a group is found in no name that an earlier one leaves.
        """
        named = [*pl_module.model.named_parameters()]
        self._names = {id(parameter): name for name, parameter in named}
        self._frozen = {group: [] for group in self.groups if group.frozen}
        found = [self.group_of(parameter) for _, parameter in named]
        for number, group in enumerate(self.groups):
            if group not in found:
                parts = ", ".join(dict.fromkeys(name.rpartition(".")[0] for name, _ in named))
                raise InputError(
                    f"optimizer.groups[{number}].pattern={group.pattern}: is found in the name of no parameter, or an earlier "
                    f"group has them; those of {parts}"
                )
        for group, (_, parameter) in zip(found, named, strict=True):
            if group.frozen:
                self._frozen[group].append(parameter)

    def group_of(self, parameter: nn.Parameter) -> Group:
        """Return the group of a parameter."""
        name = self._names.get(id(parameter), "")
        return next((each for each in self.groups if re.search(each.pattern, name)), REST)

    def __call__(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """Return the optimizer, and print a table of the groups."""
        members: dict[tuple[Group, bool], list[nn.Parameter]] = {}
        for parameter in parameters:
            decays = self.decay_vectors or parameter.ndim > 1
            members.setdefault((self.group_of(parameter), decays), []).append(parameter)
        order = sorted(members, key=lambda key: ([*self.groups, REST].index(key[0]), not key[1]))
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
        until = "" if isinstance(group.frozen, bool) else f" for {counted(group.frozen, 'epoch')}"
        values = [
            f"{n} {made[n]:.3g}" for n in ("lr", "weight_decay") if isinstance(made.get(n), int | float)
        ]
        values += [f"frozen{until}"] if frozen else []
        vectors = ", biases and norms" if only_vectors else ""
        tell(
            f"group       {group.pattern or 'all others'}{vectors}: {counted(number, 'parameter')}, {', '.join(values)}"
        )

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        """Take the gradients of frozen parameters away, which the optimizer then skips."""
        for group, parameters in self._frozen.items():
            if group.is_frozen(trainer.current_epoch):
                for parameter in parameters:
                    parameter.grad = None
