"""Ends connections whose request does not arrive: uvicorn waits for the rest of a request without end."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0
"""Seconds in which a request has to be here, from its first byte, or from the connection for the first one."""
RATE = 16 * 1024
"""Bytes a second: a request that is longer has as much more time as it takes at this speed."""
_LATE = (
    b'{"error": "The request did not arrive in time. Send it again.", "detail": "The request did not arrive in time."}'
)
_REPLY = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_LATE), _LATE)
)


class PunctualProtocol(H11Protocol):
    """HTTP/1.1 with a limit on the time until the whole of a request has arrived; replies may take longer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._begun = 0.0
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self._expect(0)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body and (self.cycle is not before or not self._idle()):
            self._settle()  # all of a request is here; what may follow it waits for the reply
        elif self._timer is None:
            self._expect(len(data))
        else:
            self._received += len(data)

    def on_response_complete(self) -> None:
        """See uvicorn; of the next request a part may be here already."""
        super().on_response_complete()
        more = self.conn.trailing_data[0] if self._idle() else self.cycle.more_body
        if more and self._timer is None:
            self._expect(0)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._settle()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        """Return whether the last request is answered, so that bytes belong to the next one."""
        return self.cycle is None or self.cycle.response_complete

    def _expect(self, received: int) -> None:
        self._begun, self._received = self.loop.time(), received
        self._timer = self.loop.call_later(PATIENCE, self._look)

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Close, unless the request comes in fast enough, or it is we who do not read it."""
        left = self._begun + PATIENCE + self._received / RATE - self.loop.time()
        if left > 0 or self.flow.read_paused:
            self._timer = self.loop.call_later(max(left, 1.0), self._look)
            return
        self._timer = None
        if self._received and (self._idle() or not self.cycle.response_started):
            self.transport.write(_REPLY)
        self.transport.close()


def limit_waiting() -> None:
    """Have uvicorn use :class:`PunctualProtocol`; Gradio starts it and hands no option on."""
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{PunctualProtocol.__name__}"
