"""Corpora: text files, tab-separated files, Multi30k, Hugging Face datasets, toy tasks, the built-in corpus; a file each."""
