"""A bounded cache for what never changes once it is written."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Keeps the values used last, up to a total cost; safe between threads.

    Args:
        limit: total cost kept. A value that alone costs more is returned but not kept.
        cost: cost of a value; None: every value costs 1.
        dropped: called with a value that leaves the cache.
    """

    def __init__(
        self, *, limit: int, cost: Callable[[V], int] | None = None, dropped: Callable[[V], None] | None = None
    ) -> None:
        self._limit = limit
        self._cost = cost
        self._dropped = dropped
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of ``key``, made now if it is not there. Two threads may make the same value; one is kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        value = make()  # outside the lock: reading a file must not hold up the others
        self._keep(key, value)
        return value

    def drop(self, key: Hashable) -> None:
        """Forget ``key``."""
        with self._lock:
            gone = self._values.pop(key, None)
            if gone is not None:
                self._total -= gone[1]
        if gone is not None and self._dropped is not None:
            self._dropped(gone[0])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            keys = list(self._values)
        for key in keys:
            self.drop(key)

    @property
    def total(self) -> int:
        """Cost of what is kept."""
        return self._total

    def _keep(self, key: Hashable, value: V) -> None:
        cost = 1 if self._cost is None else self._cost(value)
        left: list[V] = []
        with self._lock:
            if cost > self._limit or key in self._values:
                return
            self._values[key] = (value, cost)
            self._total += cost
            while self._total > self._limit:
                _, (old, price) = self._values.popitem(last=False)
                self._total -= price
                left.append(old)
        if self._dropped is not None:
            for old in left:
                self._dropped(old)
