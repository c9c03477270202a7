"""Says so when attention does not form."""

from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

UNIFORM_ENTROPY = 0.97
"""Normalised entropy above which attention is taken for uniform."""

WARM_UP = 2
"""Validations before a judgement."""


class AttentionWatch(Callback):
    """Prints one line, once a run, where attention is still uniform after the warm-up.

    That is: its normalised entropy is above `UNIFORM_ENTROPY` at the validation number `WARM_UP` or
    a later one.
    """

    def __init__(self) -> None:
        self._num_validations = 0
        self._has_warned = False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Judge the scores that were just logged."""
        self.judge(float(trainer.callback_metrics["attention/entropy"]))

    def judge(self, entropy: float) -> None:
        """Count a validation, and print the line where it is due."""
        self._num_validations += 1
        if entropy > UNIFORM_ENTROPY and self._num_validations >= WARM_UP and not self._has_warned:
            self._has_warned = True
            print(
                f"warning: attention is still uniform after {self._num_validations} validations "
                f"(entropy {entropy:.3f} of at most 1): train longer, raise optim.learning_rate or "
                "choose another attention"
            )

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return {"num_validations": self._num_validations, "has_warned": self._has_warned}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue."""
        self._num_validations = state_dict["num_validations"]
        self._has_warned = state_dict["has_warned"]
