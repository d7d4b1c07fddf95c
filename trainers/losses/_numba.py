"""Functions compiled by numba: they release the GIL, and are cached on disk where nobody else can write."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import sigutils

Compiles = TypeVar("Compiles", bound=Callable[..., Any])


def _is_off() -> bool:
    return bool(vars(numba.config)["DISABLE_JIT"])  # numba fills the module when it reads the environment


if _is_off():
    raise ImportError("NUMBA_DISABLE_JIT is set")  # uncompiled, these loops are slower than torch's operations


def compiled(**options: Any) -> Callable[[Compiles], Compiles]:
    """Return a decorator that compiles a function for the types it is first called with.

    Divisions follow IEEE 754, so that a loop with one can be vectorised.

    Args:
        options: more options of ``numba.njit``.

    Raises:
        RuntimeError: numba is told to compile nothing; the loops would take minutes in the interpreter.
    """
    if _is_off():
        raise RuntimeError("NUMBA_DISABLE_JIT is set")

    def wrap(function: Compiles) -> Compiles:
        def make(**more: Any) -> Compiles:
            made: Compiles = numba.njit(nogil=True, error_model="numpy", **options, **more)(function)
            return made

        try:
            kept = make(cache=True)
            dispatcher: Any = kept
            where = dispatcher.stats.cache_path
            private = where is not None and is_private(Path(where))
        except (RuntimeError, OSError):  # no folder can be written
            return make()
        if not private:
            return make()
        dispatcher._cache = Careful(dispatcher._cache)
        return kept

    return wrap


class Careful:
    """numba's cache of one function: what cannot be read is compiled again and replaced, what cannot be written is
    left out.

    numba itself raises in both cases, at every call.

    Args:
        cache: numba's.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self.cache_path = cache.cache_path
        self.enable, self.disable, self.flush = cache.enable, cache.disable, cache.flush

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types; None if it is not kept."""
        with contextlib.suppress(Exception):
            overload = self._cache.load_overload(sig, target_context)
            # two programs that compile at once may file the one's function under the types of the other's
            if overload is None or tuple(overload.signature.args) == tuple(sigutils.normalize_signature(sig)[0]):
                return overload
        with contextlib.suppress(Exception):
            self._cache.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        with contextlib.suppress(Exception):
            self._cache.save_overload(sig, data)


def inner(**options: Any) -> Callable[[Compiles], Compiles]:
    """Compile as :func:`compiled` does, for a function that only compiled ones call.

    It is inlined: called by name, a process that compiles it and one that loads its callers from the cache would run
    differently optimised copies of it, with sums that differ in their last bits.
    """
    return compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **options)


def is_private(folder: Path) -> bool:
    """Return whether only this user and the system can put files there: what is kept is code, and loaded again."""
    if not hasattr(os, "geteuid"):
        return True
    folder = folder.resolve()
    trusted = {0, os.geteuid()}
    for directory in (folder, *folder.parents):
        status = directory.stat()
        shared = _others_write(status) and (directory == folder or not status.st_mode & stat.S_ISVTX)
        if shared or status.st_uid not in trusted:
            return False
    return True


def _others_write(status: os.stat_result) -> bool:
    """Return whether the mode lets others write: all, or a group that is neither the system's nor this user's alone."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP or status.st_gid == 0:
        return False
    import grp  # on Windows there is none
    import pwd

    try:
        group, user = grp.getgrgid(status.st_gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return group.gr_name != user.pw_name or group.gr_gid != user.pw_gid or not {user.pw_name}.issuperset(group.gr_mem)
