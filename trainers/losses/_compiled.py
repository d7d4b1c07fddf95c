"""Loops compiled by numba, kept on disk where a folder for that can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: compile at the first call, without the interpreter's lock, divisions by zero as in numpy.

    Args:
        options: of ``numba.njit``, over the above.
    """
    given = {"nogil": True, "error_model": "numpy", **options}

    def compile_later(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(cache=True, **given)(function)
        except RuntimeError:  # no folder beside the source or in the user's home can be written
            return njit(**given)(function)

    return compile_later
