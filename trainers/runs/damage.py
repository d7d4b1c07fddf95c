"""Turns errors of reading a run folder into one sentence about that run."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from trainers.errors import DiskFullError, RunError
from trainers.runs.atomic_files import is_full

_log = logging.getLogger(__name__)
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR)
F = TypeVar("F", bound=Callable[..., Any])


class BusyError(RunError):
    """The run cannot be read or written at this moment; nothing indicates damage."""


@contextlib.contextmanager
def reading(run_id: str, passed: type[Exception] | tuple[type[Exception], ...] = RunError) -> Iterator[None]:
    """Turn whatever a run folder raises while it is read into a sentence.

    Bytes, types and shapes can be wrong in more ways than can be listed, and one run must not stop the others: hence
    every ``Exception``, here and nowhere else.

    Args:
        passed: errors that are raised as they are: their message is a sentence already.

    Raises:
        RunError: something was wrong.
    """
    try:
        yield
    except passed:
        raise
    except Exception as error:
        _log.debug("reading run %s", run_id, exc_info=True)
        raise damaged(run_id, error) from error


def reads(method: F) -> F:
    """Put :func:`reading` around a method of something that has the ``id`` of a run."""

    @functools.wraps(method)
    def read(self: Any, *values: Any, **named: Any) -> Any:
        with reading(self.id):
            return method(self, *values, **named)

    return cast(F, read)


def damaged(run_id: str, why: object) -> RunError:
    """Return the error that says what is wrong with a run, and what to do."""
    if isinstance(why, BaseException) and is_full(why):
        return DiskFullError()
    locked = isinstance(why, sqlite3.OperationalError) and "locked" in str(why)
    if locked or (isinstance(why, OSError) and why.errno in _SHORTAGE) or isinstance(why, MemoryError):
        return BusyError(f"The run {run_id} is busy; try again in a moment.")
    return RunError(
        f"The run folder {run_id} is incomplete or damaged ({words(why)}). "
        "Delete it, or restore the missing files from a download of the run."
    )


def absent(run_id: str) -> RunError:
    """Return the error that says that there is no such run."""
    return RunError(f"There is no run {run_id}; it may have been deleted.")


def words(why: object) -> str:
    """Write the cause without paths of this machine, since the sentence is shown to any visitor."""
    if isinstance(why, OSError) and why.strerror:
        name = str(why.filename or "").replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}: {why.strerror}" if name else why.strerror
    text = str(why).strip().rstrip(".")[:300]
    if isinstance(why, (OSError, ValueError, sqlite3.Error)) or not isinstance(why, BaseException):
        return text
    return f"{type(why).__name__}: {text}"
