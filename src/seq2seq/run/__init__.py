"""A run: its configuration, its folder, its procedure, its messages."""
