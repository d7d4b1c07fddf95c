"""Gives freed memory back to the system, on Linux.

The C library keeps an arena of memory for each of many threads, and takes even arrays of 32 MB from them. Here some
forty threads answer requests in turn, and what one frees in its arena serves no other: hundreds of megabytes lie idle.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's malloc.h
ARENAS = 2
LARGE = 512 * 1024
"""Bytes from which on a block is mapped by itself, and goes back to the system when it is freed."""


def give_back_early() -> bool:
    """Use few arenas and map large blocks apart; to be called before other threads start. False without glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    settings = ((_ARENA_MAX, ARENAS), (_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE))
    return all([mallopt(which, value) == 1 for which, value in settings])
