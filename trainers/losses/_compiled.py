"""Functions compiled by numba: without the interpreter's lock, and kept between starts where nobody else can write."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

if numba.config.DISABLE_JIT:
    raise ImportError("NUMBA_DISABLE_JIT is set")  # uncompiled, these loops are slower than torch's operations


def compiled(**options: Any) -> Callable[[Callable], Callable]:
    """Decorate a function to be compiled, for the types it is first called with.

    Divisions follow IEEE 754, so that a loop with one can be vectorised.

    Args:
        options: more options of ``numba.njit``.
    """

    def wrap(function: Callable) -> Callable:
        make = lambda **more: numba.njit(nogil=True, error_model="numpy", **options, **more)(function)  # noqa: E731
        try:
            kept = make(cache=True)
        except RuntimeError:  # no folder can be written
            return make()
        where = kept.stats.cache_path
        return kept if where is not None and is_private(Path(where)) else make()

    return wrap


def inner(**options: Any) -> Callable[[Callable], Callable]:
    """The same for a function that only compiled ones call: it takes half the time to compile."""
    return compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def is_private(folder: Path) -> bool:
    """Whether only this user and the system can put files there: what is kept is code, and loaded again."""
    if not hasattr(os, "geteuid"):
        return True
    folder = folder.resolve()
    trusted = {0, os.geteuid()}
    for place in (folder, *folder.parents):
        found = place.stat()
        shared = found.st_mode & stat.S_IWOTH and (place == folder or not found.st_mode & stat.S_ISVTX)
        if shared or found.st_uid not in trusted:
            return False
    return True
