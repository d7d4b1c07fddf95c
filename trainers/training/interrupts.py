"""Ctrl-C, SIGTERM and a terminal that closes while something trains.

Only the main thread of a process may say what they do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def answer(leave: Callable[[], object]) -> None:
    """Call ``leave`` on each of them from now on; in another thread than the main one nothing changes."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup: it goes on
                signal.signal(number, lambda _number, _frame: leave())


@contextmanager
def kept() -> Iterator[None]:
    """Give a program the answers back that it had before."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, answered in before.items():
                signal.signal(number, answered)
