"""Waits for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait(what: Callable[[], object], seconds: float = 90, words: str = "it did not happen") -> float:
    """Seconds until ``what`` became true.

    Raises:
        TimeoutError: it did not.
    """
    begun = time.monotonic()
    while not what():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {words}")
        time.sleep(0.02)
    return time.monotonic() - begun
