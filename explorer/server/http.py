"""Replies of the routes: JSON, errors as sentences, explicit content types."""

from __future__ import annotations

import gzip
import inspect
import json
import logging
import re
import traceback
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

from trainers.cells import encodable
from trainers.data.lru_cache import Cache
from trainers.errors import RunError, UserError

Endpoint = Callable[[Request], Any]  # a response, or a promise of one
V = TypeVar("V")
_log = logging.getLogger(__name__)
_SURROGATES = re.compile("[\ud800-\udfff]")
_JSON = "application/json"
_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:;\s*q=(?:0*1|0\.0*[1-9])[\d.]*\s*)?(?:,|$)", re.IGNORECASE)
_PACKED = 1400
"""Fewest bytes that are compressed: what is less fits one packet of the network."""
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "tex": "text/plain; charset=utf-8",
}


class RequestError(UserError):
    """The request asks for something in the wrong form."""


class GoneError(UserError):
    """A request for what does not exist, or no longer."""


def still_kept(cache: Cache[V], key: Hashable, missing: str) -> V:
    """Return what is kept under a key.

    Raises:
        GoneError: it is not, or no longer, with the sentence ``missing``.
    """
    value = cache.find(key)
    if value is None:
        raise GoneError(missing)
    return value


def answering(endpoint: Endpoint, refused: int = 404) -> Endpoint:
    """Wrap an endpoint: errors become JSON replies, and browsers are told not to guess content types.

    Args:
        endpoint: plain or asynchronous.
        refused: status of user errors that are neither a wrong form nor a missing thing.
    """

    async def answer(request: Request) -> Response:
        try:
            if inspect.iscoroutinefunction(endpoint):
                response = await endpoint(request)
            else:
                response = await run_in_threadpool(_compressed, endpoint, request)
        except Exception as error:
            response = _worded(error, request, refused)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    return answer


def json_reply(content: dict[str, Any] | list[Any], status: int = 200) -> Response:
    """Make a reply that no cache keeps."""
    return json_bytes(json_body(content), status)


def json_bytes(body: bytes, status: int = 200) -> Response:
    """Make a reply of :func:`json_body` that no cache keeps."""
    return Response(body, status, headers={"Cache-Control": "no-store"}, media_type=_JSON)


def json_body(content: dict[str, Any] | list[Any]) -> bytes:
    """Write JSON that any text can stand in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # a folder's name that is no UTF-8 holds surrogates; they must not break the reply, nor its JSON
    return _SURROGATES.sub(lambda met: encodable(met[0]).replace("\\", "\\\\"), text).encode()


def packed(body: bytes, asked: Headers, headers: MutableHeaders) -> bytes:
    """Return the body of a reply, compressed where that saves something, and write ``headers`` of the reply to fit it.

    Args:
        asked: headers of the request.
    """
    if len(body) >= _PACKED:
        headers.add_vary_header("Accept-Encoding")
        if _GZIP.search(asked.get("accept-encoding", "")):
            body = gzip.compress(body, 5, mtime=0)
            headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    return body


def attachment(content: str | bytes, name: str) -> Response:
    """Make a reply that the browser saves as a file of this name: csv, parquet or tex."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)


def unless_known(request: Request, version: str, reply: Response, *, varies: str = "") -> Response:
    """Make a reply that the browser keeps and asks about; status 304 if its copy is of this version.

    Args:
        varies: a header of the request on which the reply depends.
    """
    headers = {"Cache-Control": "no-cache", "ETag": f'"{version}"'} | ({"Vary": varies} if varies else {})
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    reply.headers.update(headers)
    return reply


def in_a_line(error: Exception) -> str:
    """Write one line on an unexpected error and where it was raised, for the log."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split())[:200].encode("ascii", "backslashreplace").decode()
    return f"{type(error).__name__}: {said} ({frame.filename}:{frame.lineno})"


def _compressed(endpoint: Endpoint, request: Request) -> Response:
    """Answer, and compress JSON: the middleware of Gradio compresses what is named as a file alone."""
    response: Response = endpoint(request)
    if response.media_type == _JSON:
        response.body = packed(bytes(response.body), request.headers, response.headers)
    return response


def _worded(error: Exception, request: Request, refused: int) -> Response:
    if isinstance(error, UserError):
        status = (
            400 if isinstance(error, RequestError) else 404 if isinstance(error, (GoneError, RunError)) else refused
        )
        return json_reply({"error": str(error)}, status)
    _log.error("answering %s failed", request.url.path, exc_info=error)
    return json_reply({"error": "The server could not do this; its log says why. Reload the page and try again."}, 500)
