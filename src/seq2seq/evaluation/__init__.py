"""Measures of translations, alignments and attention. Never sees the model."""
