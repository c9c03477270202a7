"""Training: the Lightning module, losses, schedules, callbacks, checkpoints."""

from lightning_exact_resume import PeriodicCheckpoint, StopOnSignal
from seq2seq.training.attention_logger import AttentionLogger
from seq2seq.training.lines import EpochLines, Report, TranslationSamples
from seq2seq.training.losses import LossSums
from seq2seq.training.module import TranslationModule
from seq2seq.training.objectives import GuidedAlignment, MinimumRisk, ScheduledSampling
from seq2seq.training.rate_finder import RateFinder
from seq2seq.training.resume import DurableCheckpointIO, ResumeState
from seq2seq.training.schedules import moving_average, warmup_constant, warmup_cosine, warmup_ema
from seq2seq.training.trackers import MLflowOfRun, WandbOfRun

__all__ = [
    "AttentionLogger", "DurableCheckpointIO", "EpochLines", "GuidedAlignment", "LossSums", "MLflowOfRun", "MinimumRisk", "PeriodicCheckpoint",
    "RateFinder", "Report", "ResumeState", "ScheduledSampling", "StopOnSignal", "TranslationModule", "TranslationSamples",
    "WandbOfRun", "moving_average", "warmup_constant", "warmup_cosine", "warmup_ema",
]  # fmt: skip
