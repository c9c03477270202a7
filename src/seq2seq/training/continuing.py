"""Whether a checkpoint holds what this training would have written, before any of it is used.

What does not fit would end in an error somewhere inside of Lightning or torch, or, where Lightning
passes over it, in an optimiser that silently begins anew.
"""

from typing import Any

import lightning.pytorch as pl
import torch

from seq2seq.training.form import require_form
from seq2seq.training.module import TranslationModule
from seq2seq.training.module_state import module_state


def require_same_form(
    checkpoint: dict[str, Any],
    trainer: pl.Trainer,
    module: TranslationModule,
    *,
    new_callbacks: bool,
) -> None:
    """Compare a checkpoint with the state of a training that has not begun.

    Args:
        checkpoint: its content.
        trainer: that is to continue.
        module: what it trains.
        new_callbacks: whether a callback may have no state there.

    Raises:
        ValueError: naming the part that is not as it should be.
    """
    require_form(checkpoint["state_dict"], module.state_dict(), "state_dict")
    state = module_state(checkpoint)
    _require_loops(checkpoint["loops"], trainer)
    _require_callbacks(checkpoint["callbacks"], trainer, module, new_callbacks=new_callbacks)
    num_updates = checkpoint["global_step"] - state.num_skipped
    # a scaler leaves the first steps out, too
    may_be_new = num_updates <= 0 or trainer.precision == "16-mixed"
    _require_optimiser(checkpoint, module, may_be_new=may_be_new)
    scaler = trainer.precision_plugin.state_dict()
    if scaler:
        name = type(trainer.precision_plugin).__qualname__
        require_form(checkpoint.get(name), scaler, name)


def _require_loops(loops: Any, trainer: pl.Trainer) -> None:
    names = ("fit_loop", "validate_loop", "test_loop", "predict_loop")
    fresh = {name: getattr(trainer, name).state_dict() for name in names}
    fresh["fit_loop"]["state_dict"] = {"combined_loader": [{"num_yielded": 0}]}
    require_form(loops, fresh, "loops")


def _require_callbacks(
    found: dict[str, Any], trainer: pl.Trainer, module: TranslationModule, *, new_callbacks: bool
) -> None:
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        key, require_state = callback.state_key, getattr(callback, "require_state", None)
        fresh = callback.state_dict()
        if key in found and require_state is not None:
            require_state(found[key], module)
        elif key in found:
            require_form(found[key], fresh, f"callbacks.{key}")
        elif fresh and not new_callbacks:
            raise ValueError(f"callbacks: {key} is missing")


def _require_optimiser(
    checkpoint: dict[str, Any], module: TranslationModule, *, may_be_new: bool
) -> None:
    optimiser, schedule = module.fresh_optimisation()
    fresh = optimiser.state_dict()
    schedules = [] if schedule is None else [schedule.state_dict()]
    require_form(checkpoint["lr_schedulers"], schedules, "lr_schedulers")
    found = checkpoint["optimizer_states"]
    fresh["state"] = _states_after_a_step(module)
    if may_be_new and found and isinstance(found[0], dict) and found[0].get("state") == {}:
        fresh["state"] = {}
    require_form(found, [fresh], "optimizer_states")
    for group, own in zip(found[0]["param_groups"], fresh["param_groups"], strict=True):
        for name in own.keys() - {"lr"}:
            if group[name] != own[name]:
                raise ValueError(f"optimizer_states.param_groups.{name}: not {own[name]!s:.40}")


def _states_after_a_step(module: TranslationModule) -> dict[int, Any]:
    """What the optimiser keeps of each parameter, in the shape of the parameter."""
    probe = torch.nn.Parameter(torch.zeros(2, 3))
    probe.grad = torch.zeros(2, 3)
    optimiser = module.fresh_optimisation([probe])[0]
    optimiser.step()
    kept = optimiser.state[probe]
    return {
        place: {
            name: parameter if value.shape == probe.shape else value for name, value in kept.items()
        }
        for place, parameter in enumerate(module.parameters())
        if kept
    }
