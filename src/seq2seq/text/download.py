"""Fetching a file of known checksum: resumable, retried, whole or not at all. Needs no torch."""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import BinaryIO
from urllib.parse import urlsplit

from seq2seq.errors import InputError
from seq2seq.storage.failures import is_full, refusal
from seq2seq.storage.writing import flush, move, open_own, partial_of

CHUNK = 1 << 16
"""Bytes between two reports of progress."""

TEMPORARY = {408, 425, 429, 500, 502, 503, 504}
"""Answers of a server that may be different a moment later."""

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there, and how many there will be where the server says so."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a file must be.

    Attributes:
        algorithm: a name in `hashlib`, such as ``sha256``.
        digest: what it hashes to, hexadecimal.
        most_bytes: its size at most; no more is fetched.
    """

    algorithm: str
    digest: str
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard to try.

    Attributes:
        attempts: tries before giving up.
        pause: seconds before the second try; doubled before each further one.
        timeout: seconds without an answer, or a byte of it, after which a try has failed.
        slowest: bytes a second; with fewer after that time a try has failed, too.
    """

    attempts: int = 4
    pause: float = 0.5
    timeout: float = 30.0
    slowest: float = 100.0


class _EndedEarlyError(OSError):
    """The connection closed before the announced end."""


def download(
    address: str, target: Path, checksum: Checksum, *, progress: Progress, patience: Patience
) -> None:
    """Fetch `address` to `target`.

    The bytes gather in ``.<name>.part`` beside the target, which takes the target's name when it
    is whole and its checksum is right. A part that an earlier attempt or program left is continued
    where the server can do that.

    Raises:
        InputError: the address cannot be fetched, or is not the file of this checksum.
    """
    if urlsplit(address).scheme not in {"https", "http"}:
        raise InputError(f"{address} is no address to fetch from: give one that begins https://")
    left, part = target.with_name(f".{target.name}.part"), partial_of(target)
    if left.is_file() and not left.is_symlink():
        move(left, part)  # ours alone now, should another program fetch the same file
    try:
        _gather(address, part, checksum, progress, patience)
        move(part, target)
    finally:
        if part.exists():
            move(part, left)


def _gather(
    address: str, part: Path, checksum: Checksum, progress: Progress, patience: Patience
) -> None:
    """Try until the part is whole and right."""
    pause, continued = patience.pause, part.exists()
    for attempt in range(1, patience.attempts + 1):
        try:
            _append(address, part, checksum.most_bytes, progress, patience)
            break
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and is_full(error):
                raise refusal(error, part) from error
            lasting = isinstance(error, urllib.error.HTTPError) and error.code not in TEMPORARY
            if lasting or attempt == patience.attempts:
                raise InputError(_not_fetched(address, error, attempt)) from error
        time.sleep(pause)
        pause *= 2
    found = _digest(part, checksum.algorithm)
    if found == checksum.digest:
        return
    part.unlink()
    if not continued:
        raise InputError(
            f"{address}: its {checksum.algorithm.upper()} is {found}, expected {checksum.digest}: "
            "nothing of it is kept; check the address, or what stands between you and it"
        )
    # what was there before may be to blame: once more from the beginning
    _gather(address, part, checksum, progress, patience)


def _not_fetched(address: str, error: Exception, attempts: int) -> str:
    reason = getattr(error, "reason", None) or str(error) or type(error).__name__
    if isinstance(error, urllib.error.HTTPError):
        reason = f"{error.code} {error.reason}"
    elif isinstance(reason, OSError):
        reason = reason.strerror or str(reason)
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    return f"{address} cannot be fetched{tried} ({reason}): check the network and the address"


def _append(address: str, part: Path, most: int, progress: Progress, patience: Patience) -> None:
    """Fetch what the part lacks, or the whole file where the server cannot continue."""
    start = part.stat().st_size if part.exists() else 0
    if start > most:
        start = 0
    request = urllib.request.Request(address)
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        with _answer(request, patience.timeout) as response:
            continues = response.status == http.HTTPStatus.PARTIAL_CONTENT
            begins = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            start = start if continues and begins else 0
            with os.fdopen(open_own(part, os.O_WRONLY | os.O_CREAT), "wb") as file:
                file.seek(start)
                file.truncate()
                _receive(response, file, most, progress, patience)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        # nothing is missing, or the part is no beginning of this file: the checksum will tell


def _answer(request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
    """The beginning of an answer, all of which has to come in time."""
    answer: Future[http.client.HTTPResponse] = Future()

    def ask() -> None:
        try:
            answer.set_result(urllib.request.urlopen(request, timeout=timeout))
        except Exception as error:
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    return answer.result(timeout)


def _receive(
    response: http.client.HTTPResponse,
    file: BinaryIO,
    most: int,
    progress: Progress,
    patience: Patience,
) -> None:
    length = response.headers.get("Content-Length", "")
    start = have = file.tell()
    total = start + int(length) if length.isdigit() else None
    until = time.monotonic() + patience.timeout
    # the sum of what is longer than the file can be will be wrong
    while have <= most and (chunk := response.read1(CHUNK)):
        file.write(chunk)
        have += len(chunk)
        progress(have, total)
        if have - start < (time.monotonic() - until) * patience.slowest:
            raise TimeoutError(f"fewer than {patience.slowest:g} bytes a second")
    flush(file)
    if total is not None and have < min(total, most):
        raise _EndedEarlyError(f"the connection ended after {have:,} of {total:,} bytes")


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
