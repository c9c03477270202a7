"""Attention in a terminal, and figures of comparisons."""
