"""The address that Gradio's own components send files to, in place of Gradio's: it takes one photograph at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from explorer.server.http import RequestError, answering
from explorer.server.photographs import LARGEST, Photographs
from explorer.server.posted import WAITING, posted
from explorer.server.visitors import caller

UPLOAD = "/gradio_api/upload"
PROGRESS = "/gradio_api/upload_progress"
MULTIPART = "multipart/form-data"
_AROUND = 4096
"""Bytes of a request besides the file."""
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{1,70}")
_NEEDED = "One image file was needed, sent as multipart/form-data under the name files."


def native_uploads(photographs: Photographs) -> list[Route]:
    """Return the routes, which come before Gradio's."""

    def upload(request: Request, body: bytes) -> Response:
        name, data = one_file(request.headers.get("content-type", ""), body)
        path = photographs.add(data, name, caller(request).address)
        return Response(json.dumps([str(path)]), media_type="application/json")

    receive = answering(posted(upload, LARGEST + _AROUND, WAITING, photographs.turns.admitted), 400)

    async def end(request: Request) -> Response:
        """Answer in plain words: Gradio's page shows what a refusal says as it is."""
        reply = await receive(request)
        return reply if reply.status_code == 200 else PlainTextResponse(_sentence(reply), reply.status_code)

    def progress(_request: Request) -> Response:
        # the page asks how far its upload is; it is not told, and does without
        return PlainTextResponse('data: {"msg": "done"}\n\n', media_type="text/event-stream")

    return [Route(UPLOAD, end, methods=["POST"]), Route(PROGRESS, answering(progress), methods=["GET"])]


def one_file(content_type: str, body: bytes) -> tuple[str, bytes]:
    """Read name and content of the only file of a request.

    Raises:
        RequestError: it is in another form.
    """
    kind, options = parse_options_header(content_type.encode("latin-1", "replace"))
    boundary = options.get(b"boundary", b"")
    if kind != MULTIPART.encode() or not _BOUNDARY.fullmatch(boundary):
        raise RequestError(_NEEDED)
    begin, line = b"--" + boundary + b"\r\n", b"\r\n--" + boundary
    head, blank, rest = body.removeprefix(begin).partition(b"\r\n\r\n")
    data, _, after = rest.rpartition(line)
    if not (body.startswith(begin) and blank and after.rstrip(b"\r\n") == b"--") or line + b"\r\n" in data:
        raise RequestError(_NEEDED)
    about = dict(_disposition(head))
    if about.get(b"name") != b"files" or b"filename" not in about:
        raise RequestError(_NEEDED)
    return about[b"filename"].decode("utf-8", "replace")[:200], data


def _disposition(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    for header in head.split(b"\r\n"):
        title, _, value = header.partition(b":")
        if title.strip().lower() == b"content-disposition":
            yield from parse_options_header(value.strip())[1].items()


def _sentence(reply: Response) -> str:
    content: dict[str, Any] = json.loads(bytes(reply.body))
    return str(content["error"])
