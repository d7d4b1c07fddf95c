"""Work that asks the Hub, in a thread of its own: it can be given up, and then asks and reads no more."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")
_given_up: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("given_up", default=None)


class _GivenUpError(Exception):
    """Raised in a step that nobody waits for any more."""


class Step(Generic[_Result]):
    """Calls ``work`` in a thread, from now on.

    Args:
        name: of the thread.
    """

    def __init__(self, work: Callable[[], _Result], name: str = "hub-step") -> None:
        self._work = work
        self._results: list[_Result] = []
        self._error: BaseException | None = None
        self._stop = threading.Event()
        context = contextvars.copy_context()
        context.run(_given_up.set, self._stop)
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True, name=name)
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Wait for its end, so many seconds at most."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def give_up(self) -> None:
        """Let it ask and read no more."""
        self._stop.set()

    @property
    def succeeded(self) -> bool:
        """Whether there is a result."""
        return bool(self._results)

    def result(self) -> _Result:
        """Return what ``work`` returned, or raise what it raised; for a step that has ended."""
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # raised where it is waited for
            self._error = error


def check_wanted(_what: object) -> None:
    """End a step that was given up; called in its own thread before each request and with each part of a file."""
    stop = _given_up.get()
    if stop is not None and stop.is_set():
        raise _GivenUpError
