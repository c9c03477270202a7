"""Trainings of Lightning that are stopped or killed at any moment, and go on bitwise where they were."""

from lightning_exact_resume.checkpoint import (  # noqa: I001
    BorderCallback, CheckpointError, DurableCheckpointIO, PeriodicCheckpoint, callbacks_of, ends_step, is_dry, previous,
    read_checkpoint, validation_follows,
)  # fmt: skip
from lightning_exact_resume.resume import ResumeState, out_of_time
from lightning_exact_resume.signals import Interrupted, StopOnSignal, fit

__all__ = ["BorderCallback", "CheckpointError", "DurableCheckpointIO", "Interrupted", "PeriodicCheckpoint", "ResumeState", "StopOnSignal",
           "callbacks_of", "ends_step", "fit", "is_dry", "out_of_time", "previous", "read_checkpoint", "validation_follows"]  # fmt: skip
