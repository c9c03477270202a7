"""Recurrent sequence-to-sequence translation with attention."""
