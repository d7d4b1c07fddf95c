"""Sets that are being opened: how far each is, for whoever asked, and a way to leave it."""

from __future__ import annotations

import re
import threading

from explorer.objects.fields import Fields
from explorer.objects.jobs import Job, StoppedError
from explorer.objects.sets import PhotoSet, Sets
from explorer.replies import GoneError, RequestError
from trainers.errors import DataError

MOST = 64
"""Sets that may be waited for at once."""
_TICKET = re.compile(r"[0-9a-f]{16,64}")


class Openings:
    """Opens sets for requests that carry a ticket: a number of the visitor's own, which nobody else can guess."""

    def __init__(self, sets: Sets) -> None:
        self._sets = sets
        self._going: dict[str, Job] = {}
        self._lock = threading.Lock()

    def open(self, fields: Fields) -> PhotoSet:
        """Open the set of a request; returns when it is read.

        Raises:
            RequestError: a value is in the wrong form.
            DataError: the set cannot be had, or the visitor has left it.
        """
        source, captions = fields.text("source"), fields.text("captions_from", "") or None
        limit = fields.whole("limit", 0, 1, 10**7) if fields.has("limit") else None
        ticket = fields.text("ticket", "")
        if not ticket:
            return self._sets.open(source, captions, limit)
        job = self._begun(ticket)
        try:
            return self._sets.open(source, captions, limit, job.tell)
        except StoppedError:
            raise DataError("The set was left before it was read; nothing was opened.") from None
        finally:
            with self._lock:
                del self._going[ticket]

    def get(self, ticket: str) -> Job:
        """How far a set is.

        Raises:
            GoneError: no set is being opened under this ticket.
        """
        with self._lock:
            found = self._going.get(ticket)
        if found is None:
            raise GoneError("This set is not being opened, or no longer.")
        return found

    def _begun(self, ticket: str) -> Job:
        if _TICKET.fullmatch(ticket) is None:
            raise RequestError("A ticket of 16 to 64 hexadecimal digits was needed; send none, or such a one.")
        job = Job(id=ticket, order=None, phase="running", message="waiting until another set is read")
        with self._lock:
            if ticket in self._going or len(self._going) >= MOST:
                raise RequestError("Sets are being opened already; wait for them, then try again.")
            self._going[ticket] = job
        return job
