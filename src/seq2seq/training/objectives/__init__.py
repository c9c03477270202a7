"""Training objectives: what is minimized on a batch. `objective.py` joins them."""

from seq2seq.training.objectives.guided_alignment import GuidedAlignment
from seq2seq.training.objectives.minimum_risk import MinimumRisk
from seq2seq.training.objectives.objective import objective_of
from seq2seq.training.objectives.scheduled_sampling import ScheduledSampling

__all__ = ["GuidedAlignment", "MinimumRisk", "ScheduledSampling", "objective_of"]
