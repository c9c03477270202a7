"""Memory that tensors gave back stays with the process, and that of programs is bounded."""

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt."""
KEPT = 2**30
"""Blocks up to this are kept, and so much free memory at the end of the heap [bytes]."""

PROGRAMS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "160"}
"""oneDNN keeps 1,024 otherwise, of 1 MB each; those of a step that come again are about 100."""


def keep_freed_memory() -> None:
    """Have glibc's allocator keep what is freed, instead of returning it to the system.

    A training step, or a process that tokenises, frees and takes the same large blocks again and
    again, and the system clears every page of them each time. Elsewhere nothing happens. Products
    in short formats are programs, one for each shape: only so many are kept.
    """
    os.environ.update(PROGRAMS | os.environ)
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
