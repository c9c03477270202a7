"""Counts in messages."""


def counted(number: int, name: str) -> str:
    """Return a number with what it counts, such as ``1 line`` and ``1,200 sentence pairs`` of the singular."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"
