"""Middleware that checks every request before Gradio or a route sees it, and adds headers to every reply.

Gradio fetches files of other servers for anyone, runs what another site's page posts to it, and answers what it did not
expect with a traceback. None of this can be switched off, so this middleware stops it.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.server import plain
from explorer.server.hosts import from_another_site, is_own, not_own, refused_site
from explorer.server.http import RequestError, in_a_line, json_reply
from explorer.server.login import ADDRESSES, not_signed_in, signed_in
from explorer.server.native_uploads import MULTIPART, UPLOAD
from explorer.server.visitors import ADDRESS, LOGIN, address_of
from explorer.settings import Settings

API = "/gradio_api"
LARGEST = 42 * 1024 * 1024
"""Most bytes of a request: an image of 30 MB in base64 and the rest of its message."""
LONGEST_NAME = 64
"""Most letters of the name of a visit or of an event."""
PENDING = 12
"""Most events of one address that may wait or run in Gradio's queue on a public page."""
TOOLS = f"{API}/mcp"
"""Where Gradio serves the public functions as tools of assistants."""
TOOLS_AT_ONCE = (4, 16)
"""Most calls of tools that are answered at once, of one address and of all: each keeps a thread until it is done."""
BYTES_ADDRESSES = tuple(f"{API}/rankscope/{part}" for part in ("retrieval/upload", "form/drop"))
BYTES_TYPES = ("application/octet-stream", "image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# nothing of the page needs them: files to disk, development tools, requests to other servers
_CLOSED = re.compile(
    rf"{API}/(upload[^_]|upload_progress.|process_recording|stream|component_server|deep_link|proxy=|file=\w{{2,}}:"
    r"|dev|vibe|undo-vibe|run-history|profiling|custom_component|mcp/(?:sse|messages))|/monitoring"
)
_CONTENT = re.compile(rf"{API}/(?!rankscope/assets/)|/config")
_EVENTS = re.compile(rf"{API}/(call|run|api|queue/join)(/|$)")
_STREAMS = re.compile(rf"{API}/(?:queue/data|call/(?:v2/)?[^/]+/([^/]+))")
_TOOLS = re.compile(rf"{TOOLS}(/http)?/?")
_ANSWERED = re.compile(rf"{API}/(run|api)/")
_TOO_LARGE = f"At most {LARGEST // 2**20} MB can be sent here. Send less."
_log = logging.getLogger(__name__)


class Guard:
    """The middleware, for ``launch(app_kwargs={"middleware": [Middleware(Guard, ...)]})``.

    Args:
        pending: number of events of an address that Gradio's queue holds; on a public page they are bounded.
        streams: whether the queue has messages for a session or an event; Gradio raises where it has none.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, pending: Callable[[str], int], streams: Callable[[str], bool]
    ) -> None:
        self._app = app
        self._settings = settings
        self._pending = pending
        self._streams = streams
        self._calls: Counter[str] = Counter()  # of tools, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] != "http":
            if scope["type"] != "websocket":  # the page opens none
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client = (scope.get("client") or ("",))[0]
        scope[ADDRESS] = address_of(client, headers, self._settings.on_space)
        scope[LOGIN] = signed_in(scope, headers)
        sent = _Sent(send, scope["path"], self._settings.on_space)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, sent)
            return
        with self._counted(scope[ADDRESS]) if _TOOLS.fullmatch(scope["path"]) else nullcontext():
            await self._answer(scope, receive, sent)

    async def _answer(self, scope: Scope, receive: Receive, sent: _Sent) -> None:
        """Pass a request on; what goes wrong is a sentence."""
        try:
            bounded: Receive = _Bounded(receive)
            if scope["method"] not in _SAFE and scope["path"] not in (*BYTES_ADDRESSES, UPLOAD):
                bounded = await _readable(bounded)
            await self._app(scope, bounded, sent)
        except _TooLargeError:
            await _refused(413, _TOO_LARGE)(scope, receive, sent)
        except RequestError as error:
            await _refused(400, str(error))(scope, receive, sent)
        except Exception as error:
            _log.error("%s: %s", plain.seen(scope["path"]), in_a_line(error))
            if not sent.begun:
                await _failed(scope)(scope, receive, sent)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path, local = scope["path"], not self._settings.public
        if local and not is_own(headers.get("host", ""), self._settings):
            return _refused(403, not_own(headers.get("host", "")))
        if _CLOSED.match(path):
            return _refused(404, "There is nothing at this address.")
        # links have no origin; what has one is read by a page, and Gradio lets any site's read what is not on localhost
        asks = scope["method"] not in _SAFE or ("origin" in headers and _CONTENT.match(path))
        simple = path == UPLOAD and scope["method"] not in _SAFE  # a page of another site can send it without asking
        if ((local and asks) or simple) and from_another_site(headers, self._settings):
            return _refused(403, refused_site(headers))
        if refused := self._no_tool(scope, headers):
            return refused
        if scope["method"] in _SAFE:
            return self._no_stream(scope)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if path in BYTES_ADDRESSES:
            if kind not in BYTES_TYPES:
                return _refused(415, "The bytes of an image were needed, sent as application/octet-stream.")
        elif path == UPLOAD:
            if kind != MULTIPART:
                return _refused(415, "An image file was needed, sent as multipart/form-data.")
        elif kind != "application/json":
            return _refused(415, "JSON was needed, sent as application/json.")
        if path == UPLOAD:  # which says itself how much is too much
            return None
        said = headers.get("content-length", "0")
        if not (said.isascii() and said.isdigit()) or len(said) > 12 or int(said) > LARGEST:
            return _refused(413, _TOO_LARGE)
        if not local and _EVENTS.match(path) and self._pending(scope[ADDRESS]) >= PENDING:
            return _refused(429, f"{PENDING} of your requests are being processed; wait until some of them are done.")
        return None

    @contextmanager
    def _counted(self, address: str) -> Iterator[None]:
        """Count a call of a tool while it is answered."""
        self._calls[address] += 1
        try:
            yield
        finally:
            self._calls -= Counter([address])  # which forgets those of whom nothing is left

    def _no_tool(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse a stream of messages about nothing, and calls beyond :data:`TOOLS_AT_ONCE`."""
        if not _TOOLS.fullmatch(scope["path"]):
            return None
        if scope["method"] == "GET" and "text/event-stream" in headers.get("accept", ""):
            return _refused(405, "Nothing is sent here unasked. Send calls by POST.")
        each, total = TOOLS_AT_ONCE
        if self._calls[scope[ADDRESS]] >= each or self._calls.total() >= total:
            return _refused(429, f"{each} calls at once are answered, {total} of all visitors; wait until one is done.")
        return None

    def _no_stream(self, scope: Scope) -> Response | None:
        """Refuse a stream that nobody writes to."""
        match = _STREAMS.fullmatch(scope["path"])
        named = match and (match[1] or QueryParams(scope["query_string"]).get("session_hash"))
        if not named or self._streams(named):
            return None
        return _refused(404, "There is no event of this name. Send a request first, or reload the page.")


class _TooLargeError(Exception):
    """The body is larger than :data:`LARGEST`."""


class _Bounded:
    """Counts the bytes received, since a request need not state its length."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._total = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._total += len(message.get("body", b""))
        if self._total > LARGEST:
            raise _TooLargeError
        return message


async def _readable(receive: Receive) -> Receive:
    """Read and check the body, and return it to be received again: Gradio fails on texts that are not Unicode.

    Raises:
        RequestError: it is not a JSON object, or holds what :func:`explorer.server.plain.check` refuses, or a name of
            a visit or an event that Gradio would keep for ever or not find again.
    """
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # disconnected before the whole body was received
            return receive
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body, given = b"".join(parts), False
    values = await to_thread.run_sync(plain.parse, body)
    for name in ("session_hash", "event_id"):
        word = values.get(name)
        if word is not None and not (isinstance(word, str) and 0 < len(word) <= LONGEST_NAME):
            raise RequestError(f"{name} needs a text of 1 to {LONGEST_NAME} letters; got {plain.seen(word)}.")

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Sent:
    """Adds headers to every reply, and records whether the reply has begun."""

    def __init__(self, send: Send, path: str, on_space: bool) -> None:
        self._send = send
        self._path = path
        self._on_space = on_space
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            # Gradio calls every refusal of an event an error of the server
            if message["status"] == 500 and _ANSWERED.match(self._path):
                message["status"] = 400
            headers = MutableHeaders(scope=message)
            hub = " https://huggingface.co https://*.hf.space" if self._on_space else ""  # shows the page in a frame
            headers["Content-Security-Policy"] = f"frame-ancestors 'self'{hub}"
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "same-origin"
            if not self._on_space:
                headers["X-Frame-Options"] = "SAMEORIGIN"
        await self._send(message)


def _failed(scope: Scope) -> Response:
    if scope["path"].startswith(ADDRESSES):
        return not_signed_in(Request(scope))
    return _refused(400, "This request cannot be understood. Check its address and its values.")


def _refused(status: int, sentence: str) -> Response:
    return json_reply({"error": sentence, "detail": sentence}, status)  # Gradio's clients read ``detail``
