"""Sets that are being opened: how far each is, for whoever asked, and a way to leave it."""

from __future__ import annotations

import re
import secrets
import threading

from explorer.object_removal.datasets import WAITING, PhotoSet, Sets
from explorer.object_removal.fields import Fields
from explorer.object_removal.jobs import Job, StoppedError
from explorer.server.http import RequestError
from explorer.server.visitors import NOBODY, Caller
from trainers.errors import DataError

MOST = 64
"""Sets that may be waited for at once."""
_TICKET = re.compile(r"[0-9a-f]{16,64}")


class Openings:
    """Opens sets for requests that carry a ticket: a number of the visitor's own, which nobody else can guess.

    Args:
        sets: where they are kept.
        each: sets that one address or login may wait for at once; None: any number.
    """

    def __init__(self, sets: Sets, each: int | None = None) -> None:
        self._sets = sets
        self._each = each
        self._going: dict[str, Job] = {}
        self._lock = threading.Lock()

    def open(self, fields: Fields, caller: Caller = NOBODY) -> PhotoSet:
        """Open the set of a request; returns when it is read. A request without a ticket gets one that nobody knows.

        Raises:
            RequestError: a value is in the wrong form, or too many are being opened.
            DataError: the set cannot be had, or the visitor has left it.
        """
        source, captions = fields.text("source"), fields.text("captions_from", "") or None
        limit = fields.whole("limit", 0, 1, 10**7) if fields.has("limit") else None
        job = self._begun(fields.text("ticket", "") or secrets.token_hex(16), caller)
        try:
            return self._sets.open(source, captions, limit, job.tell)
        except StoppedError:
            raise DataError("The set was left before it was read; nothing was opened.") from None
        finally:
            with self._lock:
                del self._going[job.id]

    def find(self, ticket: str) -> Job | None:
        """How far a set is; None where none is being opened under this ticket, not yet or no longer."""
        with self._lock:
            return self._going.get(ticket)

    def close(self) -> None:
        """Leave them all."""
        with self._lock:
            for job in self._going.values():
                job.stop.set()

    def _begun(self, ticket: str, caller: Caller) -> Job:
        if _TICKET.fullmatch(ticket) is None:
            raise RequestError("A ticket of 16 to 64 hexadecimal digits was needed; send none, or such a one.")
        job = Job(id=ticket, order=None, caller=caller, phase="running", message=WAITING)
        with self._lock:
            if ticket in self._going or len(self._going) >= MOST:
                raise RequestError("Sets are being opened already; wait for them, then try again.")
            going = [one.caller.marks() for one in self._going.values()]
            for mark in caller.marks() if self._each is not None else ():
                if sum(mark in marks for marks in going) >= self._each:
                    raise RequestError(f"You wait for {self._each} sets already; leave one of them, or wait for it.")
            self._going[ticket] = job
        return job
