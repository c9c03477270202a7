"""Averages of the weights over the course of training; they are what is validated and exported."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from msgspec import Struct
from torch import Tensor

from seq2seq.storage.typed_json import Count, converted
from seq2seq.training.form import require_form


class WeightAverage(Callback):
    """Keeps an average of the parameters beside those that are trained.

    - ``ema``: after every optimiser step, average = d average + (1 - d) weights, with
      d = min(decay, (1 + n) / (10 + n)) at the n-th step: early weights are soon forgotten.
    - ``epochs``: the mean of the weights at the end of each epoch from `first_epoch` on.

    Until there is an average, the weights themselves stand for it. Validations see the average; a
    checkpoint holds it as the model, and the trained weights among the callback's state.
    (Lightning's own callback copies the whole module, and validates untrained weights until its
    average begins.)

    Must come after the callbacks that look at a validation's model, and before those that write
    checkpoints.

    Args:
        kind: ``ema`` or ``epochs``.
        decay: d of ``ema``.
        first_epoch: of ``epochs``, counted from 1.
    """

    def __init__(self, kind: str, *, decay: float, first_epoch: int) -> None:
        self._kind = kind
        self._decay = decay
        self._first_epoch = first_epoch
        self._average: list[Tensor] | None = None
        self._num_averaged = 0
        self._latest_step = 0
        self._restored: dict[str, Any] | None = None
        self._swapped_in = False

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        """Take the new weights into the average, if it is time."""
        if trainer.global_step == self._latest_step:  # the batch was one of several of a step
            return
        self._latest_step = trainer.global_step
        if self._kind == "ema":
            n = trainer.global_step
            self._include(pl_module, 1 - min(self._decay, (1 + n) / (10 + n)))
        elif trainer.is_last_batch and trainer.current_epoch + 1 >= self._first_epoch:
            self._include(pl_module, 1 / (self._num_averaged + 1))

    @torch.no_grad()
    def _include(self, pl_module: pl.LightningModule, share: float) -> None:
        """Move the average by a share of its distance from the weights."""
        weights = list(pl_module.parameters())
        if self._average is None:
            self._average = [weight.clone() for weight in weights]
        else:
            for average, weight in zip(self._average, weights, strict=True):
                average.lerp_(weight, share)
        self._num_averaged += 1

    @torch.no_grad()
    def _swap(self, pl_module: pl.LightningModule) -> None:
        """Exchange the module's weights and the average."""
        for average, weight in zip(self._average or [], pl_module.parameters(), strict=False):
            kept = weight.clone()
            weight.copy_(average)
            average.copy_(kept)
        self._swapped_in = not self._swapped_in

    @contextmanager
    def _average_swapped_in(self, pl_module: pl.LightningModule) -> Iterator[None]:
        """Have the average in the module, as it is during a validation."""
        before = self._swapped_in
        if not before:
            self._swap(pl_module)
        yield
        if not before:
            self._swap(pl_module)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Validate the average."""
        self._swap(pl_module)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Train the weights."""
        self._swap(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """How far the average is; `on_save_checkpoint` adds the weights."""
        return {"num_averaged": self._num_averaged, "latest_step": self._latest_step}

    def on_save_checkpoint(
        self,
        trainer: pl.Trainer,  # noqa: ARG002
        pl_module: pl.LightningModule,
        checkpoint: dict[str, Any],
    ) -> None:
        """Put the average where the model is looked for, and the weights aside."""
        if self._average is None:
            return
        state = checkpoint["callbacks"][self.state_key]
        with self._average_swapped_in(pl_module):
            state["trained"] = [weight.clone() for weight in self._average]
            checkpoint["state_dict"] = {
                name: tensor.clone() for name, tensor in pl_module.state_dict().items()
            }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state for the start of training."""
        self._restored = state_dict

    @torch.no_grad()
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Go on where the checkpoint was written: what was loaded as the model is the average."""
        if self._restored is None:
            return
        self._num_averaged = self._restored["num_averaged"]
        self._latest_step = self._restored["latest_step"]
        if "trained" in self._restored:
            weights = list(pl_module.parameters())
            self._average = [weight.clone() for weight in weights]
            for weight, trained in zip(weights, self._restored["trained"], strict=True):
                weight.copy_(trained)
        self._restored = None

    def require_state(self, found: Any, module: pl.LightningModule) -> None:
        """Check what `load_state_dict` is to get.

        Raises:
            ValueError: it is no average of this module's weights.
        """
        state = converted(found, _State, "callbacks.WeightAverage")
        if state.trained is not None:
            own = list(module.parameters())
            require_form(state.trained, own, "callbacks.WeightAverage.trained")


class _State(Struct):
    num_averaged: Count
    latest_step: Count
    trained: list[Tensor] | None = None
