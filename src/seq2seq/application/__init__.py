"""Puts the rooms together: config in, trained model and metrics out."""
