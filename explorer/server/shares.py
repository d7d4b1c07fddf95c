"""Limits on one visitor of a public page: how many runs, and how large."""

from __future__ import annotations

import time
from collections.abc import Callable

from explorer.server.visitors import Caller
from explorer.settings import Limits
from trainers.config import Config
from trainers.data.settings import free_memory, run_bytes
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.training.footprint import too_large

_HOUR = 3600.0
_OF_FREE = 0.8
"""Share of the free memory that one more run may take."""


class Shares:
    """Counts the runs of addresses and logins; after a restart of the page only the tokens in the folders count.

    Args:
        limits: how many.
        busy: whether a run waits or trains.
    """

    def __init__(self, limits: Limits, busy: Callable[[str], bool]) -> None:
        self._limits = limits
        self._busy = busy
        self._runs: dict[str, tuple[str, ...]] = {}
        self._starts: dict[str, list[float]] = {}

    def started(self, run_id: str, caller: Caller) -> None:
        """Count a run."""
        self._runs[run_id] = caller.identities()
        for identity in caller.identities():
            self._starts.setdefault(identity, []).append(time.monotonic())

    def check(self, caller: Caller) -> None:
        """Refuse a caller who may not start one more.

        Raises:
            RunError: not now.
        """
        self._forget()
        for identity in caller.identities():
            if sum(identity in identities for identities in self._runs.values()) >= self._limits.held:
                raise RunError(
                    f"{self._limits.held} runs from your address or login wait or train; stop one of them, or wait "
                    "until one of them ends."
                )
            if len(self._starts.get(identity, ())) >= self._limits.hourly:
                raise RunError(
                    f"{self._limits.hourly} runs were started from your address or login within an hour; please come "
                    "back later, or run this on your own machine."
                )

    def _forget(self) -> None:
        begin = time.monotonic() - _HOUR
        self._runs = {run_id: identities for run_id, identities in self._runs.items() if self._busy(run_id)}
        recent = {identity: [at for at in starts if at >= begin] for identity, starts in self._starts.items()}
        self._starts = {identity: starts for identity, starts in recent.items() if starts}


def check_size(config: Config, limits: Limits) -> None:
    """Check that a run is small enough for a public page: each size, and the memory that they take together.

    Raises:
        RunError: what is too large, how much there may be, and what to make smaller.
    """
    kind = kind_of(config)
    words = {
        "batch": "a run may have {} images per batch",
        "dim": "a run may have {} numbers per embedding",
        "memory": "a run may have {} embeddings in the cross-batch memory",
        "probe": "a run may have {} images on the maps",
        "runs": "a comparison may have {} runs",
    }
    for name, number in kind.sizes(config).items():
        most = getattr(limits, name)
        if number > most:
            raise RunError(f"On this page {words[name].format(f'{most:,}')} at most; got {number:,}.")
    free, needed = _OF_FREE * free_memory(), kind.footprint(config)
    most_bytes = min(run_bytes() or free, free)
    if needed.total > most_bytes:
        raise RunError(too_large(needed, most_bytes))
