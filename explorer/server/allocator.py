"""Gives freed memory back to the system, on Linux.

The C library keeps an arena of memory for each of many threads, and takes even arrays of 32 MB from them. Here some
forty threads answer requests in turn, and what one frees in its arena serves no other: hundreds of megabytes lie idle.
Arrow brings an allocator of its own, which keeps what each of these threads has freed, too.
"""

from __future__ import annotations

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's malloc.h
ARENAS = 2
LARGE = 512 * 1024
"""Bytes from which on a block is mapped by itself, and goes back to the system when it is freed."""


def give_back_early() -> bool:
    """Use few arenas, map large blocks apart, and let Arrow do so; to be called before other threads start and Arrow is
    imported. False without glibc."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    settings = ((_ARENA_MAX, ARENAS), (_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE))
    return all([mallopt(which, value) == 1 for which, value in settings])
