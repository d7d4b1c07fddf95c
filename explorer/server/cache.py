"""Bounded in-memory caches for values that never change; several may share one bound."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Bound:
    """A total cost that several caches share; beyond it, the least recently used value of any of them is dropped.

    Args:
        limit: total cost kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self.lock = threading.Lock()
        self.caches: list[Cache[Any]] = []
        self.uses = itertools.count()

    def oldest(self) -> tuple[Cache[Any], Hashable]:
        """The cache that holds the least recently used value, and its key; at least one cache must hold something."""
        firsts = [(cache, next(iter(cache.values.items()))) for cache in self.caches if cache.values]
        cache, (key, _) = min(firsts, key=lambda first: first[1][1][2])
        return cache, key


class Cache(Generic[V]):
    """Keeps the most recently used values, up to a total cost; thread-safe.

    Args:
        limit: total cost kept, or the bound that is shared with other caches. A value that alone costs more is
            returned but not kept.
        cost: cost of a value.
        dropped: called with a value that leaves the cache.
        large: keep the value used last even if it alone costs more than the limit.
    """

    def __init__(
        self,
        *,
        limit: int | Bound,
        cost: Callable[[V], int] = lambda _value: 1,
        dropped: Callable[[V], object] = lambda _value: None,
        large: bool = False,
    ) -> None:
        self._bound = Bound(limit) if isinstance(limit, int) else limit
        self._bound.caches.append(self)
        self._cost = cost
        self._dropped = dropped
        self._large = large
        self.values: OrderedDict[Hashable, tuple[V, int, int]] = OrderedDict()  # value, cost, number of its last use

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of ``key``, made now if it is not there. Two threads may make the same value; one is kept."""
        with self._bound.lock:
            if key in self.values:
                return self._used(key)
        value = make()  # outside the lock: reading a file must not hold up the others
        self._keep(key, value)
        return value

    def find(self, key: Hashable) -> V | None:
        """The value of ``key`` if it is there."""
        with self._bound.lock:
            return self._used(key) if key in self.values else None

    def drop(self, key: Hashable) -> None:
        """Drop the value of ``key``."""
        with self._bound.lock:
            if key not in self.values:
                return
            value = self._taken(key)
        self._dropped(value)

    def clear(self) -> None:
        """Drop all values."""
        for key in self:
            self.drop(key)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys of the values held now, least recently used first; values may come and go meanwhile."""
        with self._bound.lock:
            return iter(list(self.values))

    def kept(self) -> list[V]:
        """The values held now, least recently used first; reading them here does not count as use."""
        with self._bound.lock:
            return [value for value, _, _ in self.values.values()]

    def _keep(self, key: Hashable, value: V) -> None:
        cost = self._cost(value)
        bound = self._bound
        left: list[tuple[Cache[Any], Any]] = []
        with bound.lock:
            if key in self.values or (cost > bound.limit and not self._large):
                return
            self.values[key] = (value, cost, next(bound.uses))
            bound.total += cost
            while bound.total > bound.limit:
                cache, oldest = bound.oldest()
                if cache is self and oldest == key:
                    break  # it alone is larger than the limit
                left.append((cache, cache._taken(oldest)))
        for cache, old in left:
            cache._dropped(old)

    def _used(self, key: Hashable) -> V:
        value, cost, _ = self.values.pop(key)
        self.values[key] = (value, cost, next(self._bound.uses))
        return value

    def _taken(self, key: Hashable) -> V:
        value, cost, _ = self.values.pop(key)
        self._bound.total -= cost
        return value
