"""The names of the files of the codecs of a corpus. Loads no torch."""

CODEC_FILES = ("source.json", "source.model", "target.json", "target.model")
"""Of which the models are there for subwords only."""
