"""The sums of an optimizer step: its gradient, the steps that are left out, and the values that are logged.

Let o_b be the objective of batch b, a sum over its n_b target tokens. With the batches of all processes that Lightning
accumulates, the gradient of a step is

    grad (sum over b of o_b) / (sum over b of n_b)

which is the gradient of one batch of the same sentences.
"""

import math
import time
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler
from torch import Tensor, nn
from torch.optim import Optimizer

from seq2seq.common.progress import warn
from seq2seq.errors import InputError, TrainingFailed
from seq2seq.training.checkpoint import callbacks_of
from seq2seq.training.losses import LossSums, metrics_of

UNIT = 1024
"""Number of tokens that objectives are divided by for the backward pass, which keeps float16 in its range."""


class TrainingSums(Callback):
    """Sums over the batches of a step, and over the steps since the last logged values.

    As a callback, it is part of the checkpoints of a training, which continues with the same sums.

    Args:
        max_nonfinite_steps: Number of steps with a NaN or infinite loss or gradient before training fails.
    """

    def __init__(self, max_nonfinite_steps: int) -> None:
        self.max_nonfinite_steps, self._num_nonfinite = max_nonfinite_steps, 0
        self._batches: list[tuple[Tensor, Tensor]] = []  # sums (4,) and sentence ids, of this process
        self._step = torch.zeros(4, dtype=torch.float64)  # of all processes
        self._logged = torch.zeros(4, dtype=torch.float64)  # of the steps since the last logged values
        self._gradients: list[Tensor | None] = []  # of a checkpoint, until training starts
        self._since, self._tokens = 0.0, 0.0  # the clock of the speed, and the tokens since
        self._stopped_at = 0.0
        self._is_spent = False  # the gradient of the batch that is trained on, by a step of the optimizer

    def add(self, sums: LossSums, sentence_ids: Tensor, *, is_first: bool) -> None:
        """Add a batch to the step; `is_first`: it is the first batch of the step.

        Raises:
            InputError: The optimizer asks for the gradient again, as LBFGS does; those of earlier batches are spent.
        """
        if self._is_spent and not is_first:
            raise InputError(
                "optimizer: it computes the gradient of a step several times: give trainer.accumulate_grad_batches=1"
            )
        self._batches = [] if is_first else self._batches
        self._batches.append((sums.stacked(), sentence_ids))

    def average_gradient(self, optimizer: Optimizer, trainer: pl.Trainer) -> None:
        """Turn the gradient of the sum of objective / `UNIT` into that of the mean over all target tokens of the step."""
        parameters = parameters_of(optimizer)
        self._step = torch.stack([sums for sums, _ in self._batches]).cpu().double().sum(dim=0)
        if trainer.world_size > 1:
            total = trainer.strategy.reduce(self._step.to(parameters[0].device), reduce_op="sum")
            self._step = total.cpu()
        # Lightning has divided by accumulate_grad_batches, DDP by the number of processes
        divisor = UNIT * trainer.accumulate_grad_batches * trainer.world_size
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(divisor / float(self._step[3]))

    def end_step(self, norm: Tensor, optimizer: Optimizer, trainer: pl.Trainer) -> dict[str, float]:
        """Leave the step out if its loss or gradient is NaN or infinite, and return the values to log, if any.

        `norm` is the L2 norm of the gradient.

        Raises:
            TrainingFailed: More than `max_nonfinite_steps` steps were left out.
        """
        loss_is_finite = bool(self._step.isfinite().all())
        is_scaled = str(trainer.precision).startswith("16")  # the gradient scaler skips infinite gradients
        if loss_is_finite:
            self._logged += self._step
            self._tokens += float(self._step[3])
        if not loss_is_finite or not (is_scaled or norm.isfinite()):
            self._count_nonfinite("gradient" if loss_is_finite else "loss", trainer)
            optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without gradient
        self._batches, self._is_spent = [], True
        step = trainer.global_step + 1  # Lightning counts from 0
        if not trainer.log_every_n_steps or step % trainer.log_every_n_steps:  # type: ignore[attr-defined]  # of a connector
            return {}
        if not self._logged[3]:  # all steps were left out
            return {}
        values = {name: float(value) for name, value in metrics_of(self._logged).items()}
        seconds = max(time.perf_counter() - self._since, 1e-9)
        values["tokens_per_second"] = self._tokens / seconds
        values |= {"total_norm": float(norm), "lr": optimizer.param_groups[0]["lr"]}
        self._logged = torch.zeros_like(self._logged)
        self._since, self._tokens = time.perf_counter(), 0.0
        return {"step": float(step)} | {f"train/{name}": value for name, value in values.items()}

    def _count_nonfinite(self, what: str, trainer: pl.Trainer) -> None:
        causes = [pair for sums, ids in self._batches if not sums.isfinite().all() for pair in ids.tolist()]
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
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Begin with the gradient of a batch."""
        self._is_spent = False

    # --- checkpoints ---

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the sums and, between the batches of a step, its gradients so far.

        They are means over processes, so that each process can continue with them.
        """
        state: dict[str, Any] = {"logged": self._logged, "num_nonfinite": self._num_nonfinite}
        if self._batches:
            mean = trainer.strategy.reduce
            sums = torch.stack([sums for sums, _ in self._batches]).sum(dim=0)
            state["step"] = mean(sums.clone(), reduce_op="mean")
            grads = [parameter.grad for parameter in pl_module.parameters()]
            state["gradients"] = [
                grad if grad is None else mean(grad.clone(), reduce_op="mean") for grad in grads
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
        if "step" in state:
            self._batches = [(state["step"], torch.tensor([], dtype=torch.int64))]
            self._gradients = state["gradients"]

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


def gradient_norm(optimizer: Optimizer) -> Tensor:
    """Return the L2 norm of the gradient of all parameters that an optimizer updates."""
    grads = [parameter.grad for parameter in parameters_of(optimizer) if parameter.grad is not None]
    return torch.nn.utils.get_total_norm(grads)


def parameters_of(optimizer: Optimizer) -> list[nn.Parameter]:
    """Return the parameters that an optimizer updates."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
