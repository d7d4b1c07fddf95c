"""Visitors' images are unpacked in turn: a few at a time, of each visitor one, and whoever waited longest is next."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from trainers.data.image_file import check_upload
from trainers.errors import DataError

CAPACITY = 2
"""Images of different visitors that are unpacked at the same time."""
PATIENCE = 60.0
"""Seconds that an image waits for its turn."""


class Turns:
    """Lends its places to one request of a visitor at a time.

    Args:
        each: requests of one visitor that may be received, wait and be worked on together; None: any number.
        strict: images are checked as a stranger's.
        capacity: visitors whose requests are worked on at the same time.

    Attributes:
        waiting: visitor and number of each request that waits for its turn.
    """

    def __init__(self, each: int | None = None, *, strict: bool = False, capacity: int = CAPACITY) -> None:
        self._each = each
        self._strict = strict
        self._capacity = capacity
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._admitted: Counter[str] = Counter()
        self.waiting: list[tuple[str, int]] = []
        self._busy: set[str] = set()
        self._served: dict[str, int] = {}

    @contextmanager
    def admitted(self, visitor: str) -> Iterator[None]:
        """Count a request from before it is received to its end.

        Raises:
            DataError: this visitor has too many.
        """
        with self._changed:
            if self._each is not None and self._admitted[visitor] >= self._each:
                raise DataError(f"{self._each} of your images are being read; wait until one of them is done.")
            self._admitted[visitor] += 1
        try:
            yield
        finally:
            with self._changed:
                self._admitted[visitor] -= 1
                self._admitted += Counter()  # forget who has none

    @contextmanager
    def reading(self, visitor: str, data: bytes) -> Iterator[None]:
        """Wait for this visitor's turn, check an image file that may be a stranger's, and keep the place.

        Raises:
            DataError: there is no file, the turn did not come, or the file is refused.
        """
        if not data:
            raise DataError("No image was sent. Choose a JPEG, PNG or WebP file.")
        with self.turn(visitor):
            if self._strict:
                check_upload(data)
            yield

    @contextmanager
    def turn(self, visitor: str) -> Iterator[None]:
        """Wait for this visitor's turn and keep a place inside the block.

        Raises:
            DataError: it did not come.
        """
        ticket = (visitor, next(self._numbers))
        with self._changed:
            self.waiting.append(ticket)
            try:
                if not self._changed.wait_for(lambda: self._next() == ticket, PATIENCE):
                    raise DataError("This image waited too long for its turn; try again in a minute.")
                self._busy.add(visitor)
                self._served[visitor] = next(self._numbers)
            finally:
                self.waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(visitor)
                if not self.waiting:
                    self._served.clear()
                self._changed.notify_all()

    def _next(self) -> tuple[str, int] | None:
        """Choose among those who have no place the one who had a turn longest ago, or never; then who asked first."""
        if len(self._busy) >= self._capacity:
            return None
        ready = [ticket for ticket in self.waiting if ticket[0] not in self._busy]
        return min(ready, key=lambda ticket: (self._served.get(ticket[0], 0), ticket[1]), default=None)
