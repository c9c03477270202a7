"""The commands: ``seq2seq NAME …``."""
