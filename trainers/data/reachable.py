"""Whether the Hub answers, asked in a thread of its own: nobody waits for a network that is not there."""

from __future__ import annotations

import threading
import time

AGE = 60.0
"""Seconds after which it is asked again, while the answer before it holds."""


class Reachable:
    """Called, returns whether the Hub answers; None: it was not asked before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._answer: bool | None = None

    def __call__(self) -> bool | None:
        if forbidden():
            return False
        with self._lock:
            old, now = time.monotonic() > self._until, time.monotonic()
            if old:
                self._until = now + AGE
        if old:
            threading.Thread(target=self._ask, daemon=True).start()
        return self._answer

    def _ask(self) -> None:
        from trainers.data.hub_requests import online

        self._answer = online()


reachable = Reachable()


def forbidden() -> bool:
    """Return whether HF_HUB_OFFLINE is set."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def away() -> str | None:
    """Say why what is not on this machine cannot be had from the Hub now; None: it can, as far as is known."""
    if reachable() is not False:
        return None
    if forbidden():
        return "Not on this machine, and HF_HUB_OFFLINE forbids downloads. Unset it, and start the program again."
    return "Not on this machine, and the Hugging Face Hub cannot be reached. Connect to the network and reload."
