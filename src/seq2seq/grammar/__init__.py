"""The built-in corpus: English-French pairs made by a synchronous grammar.

The lexicon and the rules are data, under ``data/grammar/``.
"""
