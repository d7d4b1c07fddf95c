"""Least-recently-used caches in memory, for values that never change; several may share one bound, several owners one
cache."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

V = TypeVar("V")


class _Entry(NamedTuple):
    value: Any
    cost: int
    use: int  # number of its last use
    owner: str


class CostLimit:
    """A total cost that several caches share.

    Beyond it, the least recently used value of the owner whose values cost most is dropped: whoever keeps more than
    the others makes room first, and each of n owners has an n-th of the whole to themselves.

    Args:
        limit: total cost kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self.owned: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.caches: list[Cache[Any]] = []
        self.uses = itertools.count()

    @property
    def held(self) -> int:
        """Return how many values its caches hold."""
        return sum(len(cache.values) for cache in self.caches)

    def next_out(self, owner: str, cost: int) -> tuple[Cache[Any], Hashable]:
        """Choose the cache and the key of the value to drop for one more of ``owner``; something must be kept."""
        held = self.owned | {owner: self.owned[owner] + cost} if owner in self.owned else self.owned
        most = max(held.values())
        owners = {owner for owner, cost in held.items() if cost == most}
        firsts = []
        for cache in self.caches:  # their values lie in the order of their uses
            uses = ((each.use, key) for key, each in cache.values.items() if each.owner in owners)
            firsts += [(*first, cache) for first in itertools.islice(uses, 1)]
        _, key, cache = min(firsts, key=lambda first: first[0])
        return cache, key


class Cache(Generic[V]):
    """Keeps the most recently used values, up to a total cost; thread-safe.

    Args:
        limit: total cost kept, or the bound that is shared with other caches.
        cost: cost of a value.
        dropped: called with a value that leaves the cache.
        least: values that are kept whatever they cost; with 0 one that alone costs more than the limit is returned but
            not kept.
    """

    def __init__(
        self,
        *,
        limit: int | CostLimit,
        cost: Callable[[V], int] = lambda _value: 1,
        dropped: Callable[[V], object] = lambda _value: None,
        least: int = 0,
    ) -> None:
        self._bound = CostLimit(limit) if isinstance(limit, int) else limit
        self._bound.caches.append(self)
        self._cost = cost
        self._dropped = dropped
        self._least = least
        self._making: dict[Hashable, threading.RLock] = {}
        self.values: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V], owner: str = "") -> V:
        """Return the value of ``key``, made now if it is not there; who asks meanwhile waits for it.

        Errors are not kept.

        Args:
            owner: whose share of the bound it takes if it is made.
        """
        with self._bound.lock:
            if key in self.values:
                return self._used(key)
            making = self._making.setdefault(key, threading.RLock())
        with making:  # outside the lock of the bound: reading a file must not hold up the others
            with self._bound.lock:
                if key in self.values:
                    return self._used(key)
            try:
                value = make()
                self._keep(key, value, owner)
            finally:
                with self._bound.lock:
                    self._making.pop(key, None)
        return value

    def find(self, key: Hashable) -> V | None:
        """Return the value of ``key`` if it is there."""
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

    def __contains__(self, key: Hashable) -> bool:
        """Return whether there is a value of ``key``."""
        with self._bound.lock:
            return key in self.values

    def kept(self) -> list[V]:
        """Return the values held now, least recently used first."""
        with self._bound.lock:
            return [entry.value for entry in self.values.values()]

    def __iter__(self) -> Iterator[Hashable]:
        """Return the keys of the values held now, least recently used first; values may come and go meanwhile."""
        with self._bound.lock:
            return iter(list(self.values))

    def _keep(self, key: Hashable, value: V, owner: str) -> None:
        cost = self._cost(value)
        bound = self._bound
        left: list[tuple[Cache[Any], Any]] = []
        with bound.lock:
            if key in self.values or (cost > bound.limit and not self._least):
                return
            while bound.total + cost > bound.limit and bound.held >= max(1, self._least):
                cache, out = bound.next_out(owner, cost)
                left.append((cache, cache._taken(out)))
            self.values[key] = _Entry(value, cost, next(bound.uses), owner)
            bound.total += cost
            bound.owned[owner] += cost
        for cache, old in left:
            cache._dropped(old)

    def _used(self, key: Hashable) -> V:
        entry = self.values.pop(key)._replace(use=next(self._bound.uses))
        self.values[key] = entry
        return entry.value

    def _taken(self, key: Hashable) -> V:
        value, cost, _, owner = self.values.pop(key)
        self._bound.total -= cost
        self._bound.owned[owner] -= cost
        if not self._bound.owned[owner]:
            del self._bound.owned[owner]
        return value
