"""Limits of a vocabulary, and reading files of a model folder or a tokenizer."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError

MAX_TOKENS, MAX_FILE = 500_000, 64 * 2**20
"""Limits of a vocabulary that is read from a file: tokens, and bytes of the file."""


def read_file(path: Path, limit: int = MAX_FILE) -> bytes:
    """Return the content of a file; InputError: it is a pipe or a device, or has more than `limit` bytes."""
    flag = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and len(content := file.read(limit + 1)) <= limit:
            return content
    raise InputError(f"{path.name} is no regular file of {limit:,} bytes at most")


def read_json(path: Path, limit: int = MAX_FILE) -> Any:
    """Return the content of a JSON file; errors are those of `read_file`, ValueError and RecursionError."""
    found = json.loads(read_file(path, limit).decode())
    json.dumps(found, ensure_ascii=False).encode()  # refuses half of a surrogate pair
    return found
