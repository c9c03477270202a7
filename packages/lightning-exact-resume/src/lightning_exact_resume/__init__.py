"""Trainings of Lightning that are stopped or killed at any moment, and go on bitwise where they were."""

from lightning_exact_resume.checkpoint import (  # noqa: I001
    BorderCallback, CheckpointError, DurableCheckpointIO, PeriodicCheckpoint, callbacks_of, ends_step, is_dry, previous,
    read_checkpoint, validation_follows,
)  # fmt: skip
from lightning_exact_resume.groups import ParameterGroups
from lightning_exact_resume.resume import ResumeState, out_of_time
from lightning_exact_resume.schedules import OtherTraining, RateError, Schedule, lengths, schedule_of
from lightning_exact_resume.signals import Interrupted, StopOnSignal, fit

__all__ = ["BorderCallback", "CheckpointError", "DurableCheckpointIO", "Interrupted", "OtherTraining", "ParameterGroups",
           "PeriodicCheckpoint", "RateError", "ResumeState", "Schedule", "StopOnSignal", "callbacks_of", "ends_step", "fit", "is_dry",
           "lengths", "out_of_time", "previous", "read_checkpoint", "schedule_of", "validation_follows"]  # fmt: skip
