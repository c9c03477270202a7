"""Training objectives: what is minimized on a batch, and options of all of them (`objective.py`)."""

from seq2seq.training.objectives.guided_alignment import GuidedAlignment
from seq2seq.training.objectives.minimum_risk import MinimumRisk
from seq2seq.training.objectives.objective import ObjectiveWithOptions
from seq2seq.training.objectives.scheduled_sampling import ScheduledSampling

__all__ = ["GuidedAlignment", "MinimumRisk", "ObjectiveWithOptions", "ScheduledSampling"]
