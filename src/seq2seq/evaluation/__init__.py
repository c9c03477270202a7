"""Scores of translations, word alignment, significance."""

from seq2seq.evaluation.metrics import METRICS, Metric, scores_of

__all__ = ["METRICS", "Metric", "scores_of"]
