"""Endpoints that take a body, a bounded one and a few at a time; and numbers in addresses."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from explorer.server.http import Endpoint, RequestError
from explorer.server.visitors import caller

BODY = 256 * 1024
"""Most bytes of JSON."""
AT_ONCE = 4
"""Requests to one address that are worked on at the same time; the others wait."""
WAITING = 64
"""Uploads of all visitors that wait in threads for their turn; see :mod:`explorer.server.turns`."""
Admit = Callable[[str], AbstractContextManager[None]]
Post = Callable[[Request, bytes], Response]


def posted(work: Post, most: int, at_once: int, admit: Admit | None = None) -> Endpoint:
    """Make an endpoint that reads at most ``most`` bytes and then works in a thread, ``at_once`` of them together.

    Args:
        admit: entered with the visitor's address from before the body is read to the end; may refuse.
    """
    # a limit of its own: what takes minutes (opening a dataset) delays no queries, and readers' threads stay free
    limiter = CapacityLimiter(at_once)

    async def end(request: Request) -> Response:
        with nullcontext() if admit is None else admit(caller(request).address):
            return await to_thread.run_sync(work, request, await _body(request, most), limiter=limiter)

    return end


async def _body(request: Request, most: int) -> bytes:
    said = request.headers.get("content-length", "")
    too_large = RequestError(f"At most {_size(most)} can be sent here. Send less.")
    if said.isdigit() and (len(said) > 12 or int(said) > most):
        raise too_large
    parts, total = [], 0
    try:
        async for part in request.stream():
            total += len(part)
            if total > most:
                raise too_large
            parts.append(part)
    except ClientDisconnect as error:
        raise RequestError("The connection ended before the whole request had arrived. Send it again.") from error
    return b"".join(parts)


def _size(count: int) -> str:
    return f"{count // 2**20} MB" if count >= 2**20 else f"{count // 2**10} KB"


def image_reply(content: bytes, kind: str) -> Response:
    """Answer with an image ``png``, ``jpeg`` or ``webp`` that the visitor's own browser keeps for an hour."""
    return Response(content, media_type=f"image/{kind}", headers={"Cache-Control": "private, max-age=3600"})


def file_in_base64(text: str, most: int, needed: str) -> bytes:
    """Read an image file of at most ``most`` bytes from base64, which may begin as a data URL.

    Raises:
        RequestError: it is too large or no base64; ``needed`` says what it should have been.
    """
    data = text.partition(",")[2] if text.startswith("data:") else text
    if len(data) > most * 4 // 3:
        raise RequestError(f"An image file may have at most {_size(most)}; this one is larger.")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"{needed} is needed.") from error


def query_number(request: Request, name: str, default: int, most: int) -> int:
    """Read a number of the address's query, at most ``most``.

    Raises:
        RequestError: it is none.
    """
    return whole_number(request.query_params.get(name, str(default)), name, most)


def whole_number(text: str, name: str, most: int) -> int:
    """Read a number of 0 or more, at most ``most``.

    Raises:
        RequestError: it is none; ``name`` says what it is.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError(f"{name} is a number, 0 or more; got {text[:40]!r}.")
    return min(int(text), most)
