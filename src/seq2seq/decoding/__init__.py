"""Searches, translation of text, forced decoding, and questions to a model's attention."""
