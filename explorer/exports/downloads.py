"""Downloads of runs: sent while they are made, or made once and kept for whoever asks next."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import itertools
import shutil
import tempfile
import weakref
from collections.abc import Generator
from hashlib import sha256
from pathlib import Path
from typing import Any

from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from explorer.exports import EXPORTS, made, offered
from explorer.server.http import json_reply
from explorer.server.jobs import StoppedError
from explorer.server.library import MEGABYTE, Library
from explorer.server.routes import posts, reads
from explorer.server.run import Run
from explorer.server.tasks import Tasks
from explorer.server.visitors import caller
from trainers.data.lru_cache import Cache
from trainers.errors import DiskFullError, RunError, UserError
from trainers.kinds import kind_of
from trainers.progress import Progress, silent
from trainers.runs.damage import reading
from trainers.runs.database import written

KEPT = 256 * MEGABYTE
"""Most bytes on disk of files that were made; the ones asked for longest ago go first."""
WRITERS = 2
"""Files that are made at the same time; what is there already waits for none of them."""
NO_ROOM = "Whoever runs this page has to free some space for temporary files; then download again."
_TEXT = (".html", ".csv", ".json", ".md", ".tex")
"""Kept and sent compressed: Gradio would compress them anew for every visitor, and hold up all others meanwhile."""
_LEVEL = 2  # a page of 5 MB becomes 1.7 MB in a twentieth of a second
_Key = tuple[Path, str, tuple[object, ...]]


MOST_MADE, EACH = 16, 2
"""Films and the like that wait or are made in the background, of all visitors and of one."""


def download_routes(downloads: Downloads) -> list[Route]:
    """Return the routes of all downloads."""
    jobs = downloads.jobs
    shown = reads({"/run/{id}/download/{kind}": downloads.answer})
    followed = reads({"/making/{job}": jobs.followed}, "", 400)
    return [
        *shown,
        *followed,
        *posts({"/run/{id}/make/{kind}": downloads.make, "/making/{job}/stop": jobs.stopped}, ""),
    ]


class Made:
    """A file that was made; it goes when nobody keeps or sends it any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = path.stat().st_size
        weakref.finalize(self, path.unlink, missing_ok=True)


class _File(FileResponse):
    """A file, read in large parts: each is a wait for a thread."""

    chunk_size = MEGABYTE


class _Streamed(StreamingResponse):
    """Parts that are sent as they are made; who leaves early leaves nothing open."""

    def __init__(self, first: bytes, rest: Generator[bytes, None, None], **options: Any) -> None:
        super().__init__(itertools.chain([first], rest), **options)
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Starlette."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._rest.close)


class Downloads:
    """Answers downloads of runs."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._kept: Cache[Made] = Cache(limit=KEPT, cost=lambda made: made.bytes, least=1)
        self._making: dict[_Key, asyncio.Future[Made]] = {}
        self._writing: CapacityLimiter | None = None
        self._numbers = itertools.count()
        self.jobs = Tasks(noun="films", most=MOST_MADE, each=EACH)

    def make(self, request: Request, _body: bytes) -> Response:
        """Make a download in the background; the result of the job says which, for :meth:`answer`.

        Raises:
            UserError: there is no such run or download, a package is not installed for it, or too many wait.
        """
        name = request.path_params["kind"]
        with reading(request.path_params["id"][:40], passed=UserError):
            run = self._library.watch(request.path_params["id"])
            if name not in (suited := made(run)):
                if name in EXPORTS and (lacks := EXPORTS[name].lacking()):
                    raise UserError(lacks)
                raise RunError(f"The run {run.id} has no {name[:40]!r} to make; it has {', '.join(suited)}.")

        def work(tell: Progress) -> dict[str, str]:
            stamp = sha256(repr(_stamp(run)).encode()).hexdigest()[:16]
            self._kept.get((run.folder.path, name, (stamp,)), lambda: self._written(run, name, tell))
            return {"kind": name, "made": stamp}

        return json_reply(self.jobs.reply(work, caller(request)))

    def close(self) -> None:
        """Stop what is made."""
        self.jobs.close()

    @functools.cached_property
    def _folder(self) -> Path:
        """The folder of what is kept; it goes with this object, at the latest when the program ends."""
        folder = Path(tempfile.mkdtemp(prefix="rankscope-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    async def answer(self, request: Request) -> Response:
        """Send the run as a file to keep; ``?weights=1`` puts checkpoints into the zip, and ``?made=`` names what
        :meth:`make` has made.

        Raises:
            UserError: there is no such run or download, or not yet, or no room to make it.
        """
        try:
            return await self._answered(request)
        except DiskFullError as error:  # raised by what the run is written with, which speaks of training
            raise DiskFullError(NO_ROOM) from error

    async def _answered(self, request: Request) -> Response:
        ready = await to_thread.run_sync(self._look, request)
        if isinstance(ready, Response):
            return ready
        run, key = ready
        # on the event loop: two that ask for the same file wait for one that is made, and hold no thread meanwhile
        making = self._making.get(key)
        if making is None or making.done():
            making = self._making[key] = asyncio.ensure_future(self._make(run, key))
            making.add_done_callback(lambda _done: self._making.pop(key, None))
        return _sent(request, run, key[1], await asyncio.shield(making))

    def _look(self, request: Request) -> Response | tuple[Run, _Key]:
        """Return the reply where nothing has to be made first; else what to make."""
        name = request.path_params["kind"]
        with reading(request.path_params["id"][:40], passed=UserError):
            run = self._library.watch(request.path_params["id"])
            if name not in (suited := offered(run) | made(run)):
                raise RunError(f"The run {run.id} has no download {name[:40]!r}; it has {', '.join(suited)}.")
            export = EXPORTS[name]
            if export.chunks is not None:
                return _streamed(run, name, export.chunks(run, request.query_params.get("weights") == "1"))
            waits = export.make is None
            stamp = _stamp(run) if waits else (request.query_params.get("made", "")[:16],)
            key = (run.folder.path, name, stamp)
            kept = self._kept.find(key)
            if kept is not None and not kept.path.is_file():  # somebody has cleaned up the temporary files
                self._kept.drop(key)
                kept = None
            if kept is None and not waits:
                raise RunError("It is made in the background first, and is not kept here any more. Make it again.")
            return (run, key) if kept is None else _sent(request, run, name, kept)

    async def _make(self, run: Run, key: _Key) -> Made:
        if self._writing is None:
            self._writing = CapacityLimiter(WRITERS)
        return await to_thread.run_sync(self._kept.get, key, lambda: self._written(run, key[1]), limiter=self._writing)

    def _written(self, run: Run, name: str, tell: Progress = silent) -> Made:
        export = EXPORTS[name]
        for key in self._kept:
            if not key[0].is_dir():  # type: ignore[index]  # the run was deleted
                self._kept.drop(key)
        with reading(run.id, passed=(UserError, StoppedError)):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path = self._folder / f"{next(self._numbers)}-{name}"
            try:
                if export.make is not None:
                    export.make(run, path, tell)
                elif export.write is not None:
                    export.write(self._library, run, path)
                if path.suffix in _TEXT:
                    _compress(path)
                return Made(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise


def _stamp(run: Run) -> tuple[object, ...]:
    """Return a stamp that differs if a download's sources were written to: the run, its checkpoint, runs of a plan."""
    folder = run.folder
    folders = [folder.path, *(part.path for part in kind_of(run.config).parts_of(folder))]
    stamps: list[object] = [folder.state().phase, *(stamp for path in folders for stamp in written(path))]
    for name in ("probe.safetensors", "ckpt/last.safetensors"):
        with contextlib.suppress(OSError):
            about = (folder.path / name).stat()
            stamps.append((name, about.st_mtime_ns, about.st_size))
    return tuple(stamps)


def _compress(path: Path) -> None:
    plain = path.read_bytes()
    path.write_bytes(gzip.compress(plain, _LEVEL))


def _head(run: Run, name: str) -> dict[str, str]:
    """Return the headers of a download."""
    return {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="rankscope-{run.id}-{name}"'}


def _streamed(run: Run, name: str, chunks: Generator[bytes, None, None]) -> Response:
    """Stream a download; what is wrong with the run shows in the first part, and becomes a sentence."""
    return _Streamed(next(chunks), chunks, media_type=EXPORTS[name].media_type, headers=_head(run, name))


def _sent(request: Request, run: Run, name: str, made: Made) -> Response:
    """Send a file that was made, as the visitor's program can read it."""
    headers, kind = _head(run, name), EXPORTS[name].media_type
    done = BackgroundTask(lambda _made: None, made)  # it stays until it is sent
    if made.path.suffix not in _TEXT:
        return _File(made.path, media_type=kind, headers=headers, background=done)
    headers |= {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return _File(made.path, media_type=kind, headers=headers | {"Content-Encoding": "gzip"}, background=done)
    plain = _plain(made)
    return _Streamed(next(plain), plain, media_type=kind, headers=headers)


def _plain(made: Made) -> Generator[bytes, None, None]:
    with gzip.open(made.path) as file:
        while content := file.read(MEGABYTE):
            yield content
