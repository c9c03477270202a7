"""A callback of Lightning that records the attention of a probe: `AttentionCapture`; what a trainer's loggers take."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorboard_attention.probing import Probe

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
else:
    try:
        from lightning.pytorch import Callback, LightningModule, Trainer
    except ImportError:  # the same under its older name
        from pytorch_lightning import Callback, LightningModule, Trainer


class AttentionCapture(Callback):
    """Record the attention of a probe before the training and every so many optimizer steps, see `capture`.

        Trainer(callbacks=[AttentionCapture(probe=dict(src=source, tgt=target))])

    Records go to the run's TensorBoardLogger. Of several processes all run the probe, and the first writes.

    Args:
        probe: What the module is called with: a mapping of arguments by name, a tuple of arguments, or a single one, such
            as a batch; or a function that is given the module and calls it.
        every_n_steps: Optimizer steps between two records.
        model: Which part of the module is looked at and called, such as ``"model"``; "": the module itself.
        options: source_tokens, target_tokens, tokenizer, tag, modules and sentences of `capture`.

    Raises:
        ValueError: The number of steps is no whole number above 0.
    """

    def __init__(
        self, probe: Any | Callable[[Any], Any], *, every_n_steps: int = 200, model: str = "", **options: Any
    ) -> None:
        self.probe, self.model = Probe(probe, every_n_steps, **options), model

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the model as training begins or goes on.

        Raises:
            ValueError: The trainer has no TensorBoardLogger.
        """
        if trainer.is_global_zero and writer_of(trainer) is None:
            raise ValueError("AttentionCapture writes to a TensorBoardLogger: give the Trainer one, logger=")
        self._record(trainer, pl_module)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        """Record the model every so many steps."""
        if self.probe.is_due(trainer.global_step):
            self._record(trainer, pl_module)

    def _record(self, trainer: Trainer, pl_module: LightningModule) -> None:
        part, given = pl_module.get_submodule(self.model), self.probe.given
        if not callable(given):
            given = pl_module.transfer_batch_to_device(given, pl_module.device, 0)
            given = trainer.precision_plugin.convert_input(given)
        with trainer.precision_plugin.forward_context():
            self.probe.record(part, writer_of(trainer), trainer.global_step, given)


def writer_of(trainer: Trainer) -> Any:
    """Return the TensorBoard writer of a run; None where there is none, and in all processes but the first."""
    if not trainer.is_global_zero:
        return None
    experiments = (getattr(logger, "experiment", None) for logger in trainer.loggers)
    return next((each for each in experiments if hasattr(each, "file_writer")), None)


def log_picture(logger: Any, tag: str, pixels: np.ndarray, step: int) -> None:
    """Give a picture (height, width, 3) to a logger of Lightning that takes pictures: TensorBoard, W&B, MLflow, Comet."""
    experiment: Any = getattr(logger, "experiment", None)
    if hasattr(experiment, "add_image"):
        experiment.add_image(tag, pixels, step, dataformats="HWC")
    elif hasattr(logger, "log_image"):
        logger.log_image(key=tag, images=[pixels], step=step)
    elif hasattr(experiment, "log_image") and hasattr(logger, "run_id"):  # MLflow
        experiment.log_image(logger.run_id, pixels, key=tag, step=step)
    elif hasattr(experiment, "log_image"):  # Comet
        experiment.log_image(pixels, name=tag, step=step)
