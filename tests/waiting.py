"""Waits for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 240.0
"""Seconds for what takes moments: a machine that does ten other things at once is no fault of what is tested."""


def wait(
    what: Callable[[], object],
    seconds: float = PATIENCE,
    words: str | Callable[[], str] = "it did not happen",
    meanwhile: Callable[[], object] = lambda: None,
) -> float:
    """Seconds until ``what`` became true; ``meanwhile`` is called before each look.

    Raises:
        TimeoutError: it did not.
    """
    begun = time.monotonic()
    meanwhile()
    while not what():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {words if isinstance(words, str) else words()}")
        time.sleep(0.02)
        meanwhile()
    return time.monotonic() - begun
