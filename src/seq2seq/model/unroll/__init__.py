"""Recurrences over whole sentences as single operations with their own backward pass."""
