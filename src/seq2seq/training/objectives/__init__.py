"""Training objectives: what is minimized on a batch, and options of all of them (`objective.py`)."""

from seq2seq.training.objectives.guided_alignment import GuidedAlignment
from seq2seq.training.objectives.objective import with_options
from seq2seq.training.objectives.rdrop import rdrop_cross_entropy
from seq2seq.training.objectives.scheduled_sampling import ScheduledSampling

__all__ = ["GuidedAlignment", "ScheduledSampling", "rdrop_cross_entropy", "with_options"]
