"""Random numbers that go on after a resume as if nothing had happened."""

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback


class RandomState(Callback):
    """Keeps torch's generators in the checkpoints, which Lightning leaves out.

    They are set in `on_train_start`: Lightning draws random numbers between loading the
    checkpoint and the first batch.
    """

    def __init__(self) -> None:
        self._restored: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """States of the generators of every device."""
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {"cpu": torch.get_rng_state(), "cuda": cuda}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the states for the start of training."""
        self._restored = state_dict

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Go on where the checkpoint was written."""
        if self._restored is None:
            return
        torch.set_rng_state(self._restored["cpu"].cpu())
        if self._restored["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([state.cpu() for state in self._restored["cuda"]])
        self._restored = None
