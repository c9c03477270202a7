"""The corpora, each a module by its name in conf/data; `corpus.py` imports the one that is chosen.

`read` gives the corpus of a configuration, `has_test_split` says whether it has a test split.
"""
