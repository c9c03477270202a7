"""What is kept of the steps of a training: the values that are logged, the steps that are left out, and their state in checkpoints."""

import math
import time
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler
from torch import Tensor

from lightning_exact_resume import callbacks_of, ends_step
from seq2seq.common.errors import InputError, TrainingFailed
from seq2seq.common.progress import warn
from seq2seq.data.batch import Batch
from seq2seq.training.losses import StepMean
from seq2seq.training.metrics import metrics_of


class TrainingSums(Callback):
    """Sums over the steps since the last logged values, and the number of steps that were left out.

    As a callback, it is part of the checkpoints of a training, which continues with the same sums.

    Args:
        step_mean: Has the sums of the current step, which are saved between its batches.
        max_nonfinite_steps: Number of steps with a NaN or infinite loss or gradient before training fails.
    """

    def __init__(self, step_mean: StepMean, max_nonfinite_steps: int) -> None:
        self.step_mean = step_mean
        self.max_nonfinite_steps, self._num_nonfinite = max_nonfinite_steps, 0
        self._ids: list[Tensor] = []  # sentence ids of each batch of a step
        self._logged = torch.zeros(4, dtype=torch.float64)  # of the steps since the last logged values
        self._gradients: list[Tensor | None] = []  # of a checkpoint, until training starts
        self._since, self._tokens = 0.0, 0.0  # the clock of the speed, and the tokens since
        self._stopped_at = 0.0

    def end_step(self, sums: Tensor, trainer: pl.Trainer) -> dict[str, float]:
        """Return the values to log, if any, after a step with these sums, and the L2 norm of its gradient (5,).

        Raises:
            TrainingFailed: More than `max_nonfinite_steps` steps were left out.
            InputError: The optimizer asks for the gradient again, as LBFGS does; those of earlier batches are spent.
        """
        if len(self.step_mean.of_batches) > len(self._ids):
            raise InputError(
                "optimizer: it computes the gradient of a step several times: give trainer.accumulate_grad_batches=1"
            )
        step, norm = sums[:4], float(sums[4])
        loss_is_finite = bool(step.isfinite().all())
        is_scaled = str(trainer.precision).startswith("16")  # the gradient scaler skips infinite gradients
        if loss_is_finite:
            self._logged += step
            self._tokens += float(step[3])
        if not loss_is_finite or not (is_scaled or math.isfinite(norm)):
            self._count_nonfinite("gradient" if loss_is_finite else "loss", trainer)
        number = trainer.global_step + 1  # Lightning counts from 0
        if not trainer.log_every_n_steps or number % trainer.log_every_n_steps:  # type: ignore[attr-defined]  # of a connector
            return {}
        if not self._logged[3]:  # all steps were left out
            return {}
        values = {name: float(value) for name, value in metrics_of(self._logged).items()}
        seconds = max(time.perf_counter() - self._since, 1e-9)
        lr = trainer.optimizers[0].param_groups[0]["lr"]
        values |= {"tokens_per_second": self._tokens / seconds, "total_norm": norm, "lr": lr}
        self._logged = torch.zeros_like(self._logged)
        self._since, self._tokens = time.perf_counter(), 0.0
        return {"step": float(number)} | {f"train/{name}": value for name, value in values.items()}

    def _count_nonfinite(self, what: str, trainer: pl.Trainer) -> None:
        batches = zip(self.step_mean.of_batches, self._ids, strict=False)
        causes = [pair for sums, ids in batches if not sums.isfinite().all() for pair in ids.tolist()]
        where = f" on training pairs {causes[:20]}" if causes else ""
        message = f"step {trainer.global_step + 1}: the {what} is NaN or infinite{where}"
        self._num_nonfinite += 1
        if self._num_nonfinite > self.max_nonfinite_steps:
            raise TrainingFailed(
                f"{message}; the checkpoints before are kept: lower optimizer.lr or "
                "trainer.gradient_clip_val, or allow module.max_nonfinite_steps=N such steps"
            )
        if trainer.is_global_zero:
            warn(f"{message}; step left out ({self._num_nonfinite} of {self.max_nonfinite_steps})")

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the speed from now on, without what was between the epochs."""
        self._since, self._tokens = time.perf_counter(), 0.0

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock."""
        self._stopped_at = time.perf_counter()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let the clock go on."""
        self._since += time.perf_counter() - self._stopped_at

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Remember which pairs are in the step."""
        before = self._ids if batch_idx % trainer.accumulate_grad_batches else []
        self._ids = [*before, batch.sentence_ids]

    # --- checkpoints ---

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the sums and, between the batches of a step, its gradient so far.

        It is the mean over processes, so that each process can continue with it.
        """
        state: dict[str, Any] = {"logged": self._logged, "num_nonfinite": self._num_nonfinite}
        if not ends_step(trainer):
            grads = [parameter.grad for parameter in pl_module.parameters()]
            state["step"] = self.step_mean.sums
            state["mean_gradients"] = [
                grad if grad is None else trainer.strategy.reduce(grad.clone(), reduce_op="mean")
                for grad in grads
            ]
        checkpoint["sums"] = state

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore the sums; Lightning sets gradients to zero after this, so they wait for `on_train_start`."""
        if "sums" not in checkpoint:
            return
        state = checkpoint["sums"]
        self._logged, self._num_nonfinite = state["logged"].cpu(), state["num_nonfinite"]
        if "gradients" in state:
            raise InputError(
                "ckpt_path: an earlier version saved it between the batches of a step: choose one from the end of a step"
            )
        if "step" in state:
            self.step_mean.sums, self._gradients = state["step"], state["mean_gradients"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Continue within an epoch: with the gradients so far of a step, and as many batches in a step as before.

        Values are logged once an epoch at least, as its line shows them.
        """
        most = trainer.accumulate_grad_batches
        for each in callbacks_of(trainer):
            if isinstance(each, GradientAccumulationScheduler):  # it acts at the start of an epoch only
                trainer.accumulate_grad_batches = each.get_accumulate_grad_batches(trainer.current_epoch)
                most = max(each.scheduling.values())
        steps = trainer.num_training_batches / most
        trainer.log_every_n_steps = math.ceil(min(trainer.log_every_n_steps, steps))  # type: ignore[attr-defined]
        for parameter, gradient in zip(pl_module.parameters(), self._gradients, strict=False):
            parameter.grad = None if gradient is None else gradient.to(parameter.device)
        self._gradients, self._since, self._tokens = [], time.perf_counter(), 0.0
