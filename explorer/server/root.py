"""Where the page stands, as its browser sees it: proxies change the scheme, the name and the path of an address.

Gradio writes the address that the server sees into the page. Here the page says ``.`` instead, which the browser
resolves by its own address; and a path that a proxy passes on whole is cut, so that the guard and the routes see the
same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.server.http import packed
from trainers.errors import UserError

_WRITTEN = re.compile(rb'const root = ("[^"\\]*");')
_HEAD, _END = b"<head>", b"</head>"
# every relative address of the page begins at its folder; a proxy may serve it at the path without the slash too.
# Browsers that are told of no icon ask for one at the root of the site, which may be another program's.
_FOLDER = b"""<head>
<link rel="icon" href="favicon.ico">
<script>
if (!location.pathname.endsWith("/")) location.replace(`${location.pathname}/${location.search}${location.hash}`);
</script>"""


def given_root(text: str) -> str:
    """Read the path below which a proxy serves the page, also out of a whole address; empty: none.

    Raises:
        UserError: it is neither.
    """
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        parts = urlsplit("?")
    path = "/".join(part for part in parts.path.split("/") if part)
    whole = parts.scheme in ("http", "https") and parts.netloc
    if (parts.scheme and not whole) or parts.query or parts.fragment or re.search(r"[^\w./~-]|(^|/)\.\.?(/|$)", path):
        raise UserError(f"--root-path needs the path below which a proxy serves the page, say /tools; got {text!r}.")
    return f"/{path}" if path else ""


class Root:
    """Middleware that comes before every other of the page.

    Args:
        head: writes what stands at the end of the page's head.
    """

    def __init__(self, app: ASGIApp, head: Callable[[], str]) -> None:
        self._app, self._head = app, head

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Cut the prefix of the request's path, and have the page take its address from the browser."""
        if scope["type"] == "http":
            scope = without_prefix(scope)
            if scope["method"] in ("GET", "HEAD") and scope["path"] == "/":
                send = _Page(send, self._head, Headers(scope=scope))
        await self._app(scope, receive, send)


def without_prefix(scope: Scope) -> Scope:
    """Return a request as if the proxy had cut the prefix of its path: whether it did or not, the rest is the same."""
    prefix = scope.get("root_path", "")
    if not prefix:
        return scope
    path = scope["path"]
    if path == prefix or path.startswith(f"{prefix}/"):
        path = path[len(prefix) :] or "/"
    return {**scope, "path": path, "root_path": ""}


class _Page:
    """Sends the page once it is whole, compressed; every other reply at once."""

    def __init__(self, send: Send, head: Callable[[], str], asked: Headers) -> None:
        self._send, self._head, self._asked = send, head, asked
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                headers = MutableHeaders(scope=self._start)
                body = packed(by_own_address(self._body, self._head()), self._asked, headers)
                await self._send(self._start)
                await self._send({"type": "http.response.body", "body": body})


def by_own_address(page: bytes, head: str) -> bytes:
    """Return Gradio's page with ``head`` in its head and, if it has the known form, with the browser's own address in
    place of the server's.
    """
    page = page.replace(_END, head.encode() + _END, 1)
    written = _WRITTEN.search(page)
    if written is None:
        return page
    for begin in (b'"root":', b"const root = "):
        page = page.replace(begin + written[1], begin + b'"."')
    return page.replace(_HEAD, _FOLDER, 1)
