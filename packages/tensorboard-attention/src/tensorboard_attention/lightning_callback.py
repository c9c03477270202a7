"""A callback of Lightning that records the attention of a probe: `AttentionCapture`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tensorboard_attention.capturing import capture

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
        if int(every_n_steps) != every_n_steps or every_n_steps < 1:
            raise ValueError(f"every_n_steps={every_n_steps} must be a whole number of at least 1")
        self.probe, self.every_n_steps, self.model, self.options = probe, every_n_steps, model, options
        self._last = -1

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the model as training begins or goes on.

        Raises:
            ValueError: The trainer has no TensorBoardLogger.
        """
        if trainer.is_global_zero and self._writer(trainer) is None:
            raise ValueError("AttentionCapture writes to a TensorBoardLogger: give the Trainer one, logger=")
        self._record(trainer, pl_module)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        """Record the model every so many steps."""
        if trainer.global_step % self.every_n_steps == 0 and trainer.global_step != self._last:
            self._record(trainer, pl_module)

    @staticmethod
    def _writer(trainer: Trainer) -> Any:
        """Return the writer of the run; None where there is none, and in all processes but the first."""
        if not trainer.is_global_zero:
            return None
        experiments = (getattr(logger, "experiment", None) for logger in trainer.loggers)
        return next((each for each in experiments if hasattr(each, "file_writer")), None)

    def _record(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._last = trainer.global_step
        writer = self._writer(trainer)
        part = pl_module.get_submodule(self.model)
        probe = pl_module.transfer_batch_to_device(self.probe, pl_module.device, 0)
        probe = trainer.precision_plugin.convert_input(probe)
        with trainer.precision_plugin.forward_context(), capture(part, writer, self._last, **self.options):
            if callable(self.probe):
                self.probe(part)
            elif isinstance(probe, Mapping):
                part(**probe)
            elif isinstance(probe, tuple):
                part(*probe)
            else:
                part(probe)
