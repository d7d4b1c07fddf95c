"""Values that are made once each, although several threads want them at the same time; the oldest go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Keyed(Generic[Value]):
    """Keeps the values used last.

    Args:
        most: how many, or how much of ``size``, is kept.
        size: of a value.
        least: values that are always kept.
    """

    def __init__(self, most: float, size: Callable[[Value], float] = lambda _value: 1, least: int = 1) -> None:
        self._most, self._size, self._least = most, size, least
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, made if there is none; who asks meanwhile waits for it. Errors are not kept."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            try:
                value = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._values[key] = value
                while len(self._values) > self._least and sum(map(self._size, self._values.values())) > self._most:
                    self._values.popitem(last=False)
            return value
