"""Corpora: text files, tab-separated files, Multi30k, toy tasks, the built-in corpus; a file each."""
