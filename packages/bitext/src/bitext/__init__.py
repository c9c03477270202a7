"""Readers of files that are not plain text: `pairs.read_pairs` tells the format and calls the reader, a file each."""
