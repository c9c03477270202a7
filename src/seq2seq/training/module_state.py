"""What a checkpoint holds of the Lightning module besides its weights."""

from dataclasses import fields
from typing import Any

import torch
from msgspec import Struct

from seq2seq.storage.typed_json import Count, converted
from seq2seq.training.form import require_form
from seq2seq.training.loss import LossSums

RESUMED = "translation_module"
"""Key of this module's own state in a checkpoint."""


class ModuleState(Struct):
    """What a checkpoint holds of the module besides its weights.

    Attributes:
        num_skipped: steps left out because they were not finite.
        train_sums: `LossSums` since the last logged values.
    """

    num_skipped: Count
    train_sums: dict[str, torch.Tensor] | None

    def sums_on(self, device: torch.device) -> LossSums | None:
        """The sums, on a device."""
        if self.train_sums is None:
            return None
        return LossSums(**{name: value.to(device) for name, value in self.train_sums.items()})


def as_state(num_skipped: int, sums: LossSums | None) -> dict[str, Any]:
    """What a checkpoint holds of it, under `RESUMED`."""
    named = sums and {each.name: getattr(sums, each.name) for each in fields(sums)}
    return {"num_skipped": num_skipped, "train_sums": named}


def module_state(checkpoint: dict[str, Any]) -> ModuleState:
    """The module's own part of a checkpoint.

    Raises:
        ValueError: it is missing, or something else.
    """
    state = converted(checkpoint.get(RESUMED), ModuleState, RESUMED)
    if state.train_sums is not None:
        # what was written before there was guidance had none
        none = {"guidance": torch.tensor(0.0), "num_guided": torch.tensor(0)}
        state.train_sums = none | state.train_sums
        counts = {"num_correct", "num_tokens", "num_guided"}
        forms = {f.name: torch.tensor(0 if f.name in counts else 0.0) for f in fields(LossSums)}
        require_form(state.train_sums, forms, f"{RESUMED}.train_sums")
    return state
