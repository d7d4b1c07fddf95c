"""Requests that begin and do not go on."""

from __future__ import annotations

from explorer.server.routes import PREFIX

HOST = b"Host: 127.0.0.1\r\n"
POST = b"POST " + PREFIX.encode() + b"/objects/%b HTTP/1.1\r\n" + HOST
JSON = b"Content-Type: application/json\r\nContent-Length: 400\r\n\r\n"
BYTES = b"Content-Type: application/octet-stream\r\nContent-Length: 4000000\r\n\r\n"
WHOLE = b"GET " + PREFIX.encode() + b"/start HTTP/1.1\r\n" + HOST + b"\r\n"
HALVES = {
    "nothing": b"",
    "a line": b"GET / HTTP/1.1\r\n",
    "a header": b"GET / HTTP/1.1\r\n" + HOST + b"X-Long: aaaa",
    "no body": POST % b"query" + JSON,
    "half a body": POST % b"query" + JSON + b'{"image": ',
    "half an image": POST % b"upload" + BYTES + b"\x89PNG",
    "a body that a reply does not wait for": b"GET /nowhere HTTP/1.1\r\n" + HOST + JSON,
    "the second one": WHOLE + b"GET / HT",
    "the body of the second one": WHOLE + POST % b"query" + JSON + b"{",
}
"""What is sent, by what it is."""
SILENT = ("nothing", "a body that a reply does not wait for", "the second one", "the body of the second one")
"""Those whose connection is closed without a word, or after the reply to what came whole."""
