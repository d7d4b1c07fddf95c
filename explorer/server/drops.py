"""Receives what is dropped on the page: a folder file by file, or a zip file in pieces."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from explorer.server.http import RequestError
from explorer.server.taken_in import ENDINGS, taken_in
from explorer.server.visitors import Caller
from explorer.settings import Settings
from trainers.data import settings, sources
from trainers.data.image_file import SUFFIXES
from trainers.data.labelled.label_tables import LISTS
from trainers.data.labelled.label_tables import SUFFIXES as TABLES
from trainers.errors import DataError, DiskFullError
from trainers.runs.atomic_files import is_full

ACCEPTED = (*SUFFIXES, *TABLES, *LISTS, ".zip", ".parquet", ".tar")
"""Endings of the names of files that are received."""
PIECE = 8 * 2**20
"""Most bytes of the contents of one request."""
PIECES = 400
"""Most files of one request."""
DEEPEST, LONGEST = 16, 200
"""Most folders within each other, and most bytes of a name."""
ABANDONED = 1800.0
"""Seconds after which what did not arrive as a whole is removed."""
_ODD = re.compile(r"[\0-\x1f\x7f\\:]")
_RECEIVED = ".part"


@dataclass(frozen=True, kw_only=True)
class DropLimits:
    """The bounds of what is received.

    Attributes:
        size, files: bytes and files of one folder.
        held: folders of one visitor that are received or kept; an older one makes room. None: any number.
        total: bytes of all that is kept.
        unused: seconds after which what nobody uses may make room for others.
        endings: of the names of files that are received.
        runs: folder where a run, or embeddings, that are dropped become runs; None: nowhere.
    """

    size: int
    files: int
    held: int | None
    total: int
    unused: float
    endings: tuple[str, ...] = ACCEPTED
    runs: Path | None = None


def drop_limits(page: Settings) -> DropLimits:
    """Return the bounds of a page: its limits in public, and that of the disk cache."""
    cache = settings.cache_bytes()
    if not page.public:
        endings = tuple(dict.fromkeys((*ACCEPTED, *ENDINGS)))
        own = DropLimits(size=cache, files=1_000_000, held=None, total=cache, unused=ABANDONED)
        return replace(own, endings=endings, runs=page.runs)
    limits = page.limits
    return DropLimits(
        size=limits.dropped, files=limits.dropped_files, held=limits.drops, total=cache // 4, unused=ABANDONED
    )


@dataclass(kw_only=True)
class _Arriving:
    folder: Path
    visitor: str
    size: int = 0
    files: int = 0
    last: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Drops:
    """What arrives, and what is kept.

    Whoever was told an id, which is drawn at random, may add to it or use it.
    """

    def __init__(self, limits: DropLimits) -> None:
        self.limits = limits
        self._arriving: dict[str, _Arriving] = {}
        self._kept: dict[str, str] = {}  # id to visitor, of what arrived since the page started
        self._lock = threading.Lock()

    def json(self) -> dict[str, Any] | None:
        """Return what the page has to know to send files; None: nothing can be dropped here."""
        if sources.home() is None:
            return None
        limits = self.limits
        received = {"endings": limits.endings, "size": limits.size, "files": limits.files}
        return {**received, "piece": PIECE, "pieces": PIECES, "runs": limits.runs is not None}

    def begin(self, caller: Caller) -> str:
        """Return the id of a folder that may be filled."""
        home = sources.home()
        if home is None:
            raise DataError("This program keeps nothing on disk (RANKSCOPE_CACHE=off), so nothing can be dropped here.")
        with self._lock:
            self._sweep(home)
            visitor = "|".join(caller.identities())
            self._make_room_for(visitor)
            key = secrets.token_hex(16)
            folder = home / f"{key}{_RECEIVED}"
            with _writing():
                (folder / "files").mkdir(parents=True)
            self._arriving[key] = _Arriving(folder=folder, visitor=visitor)
        return key

    def add(self, key: str, files: Sequence[tuple[str, int, int]], content: bytes) -> None:
        """Write pieces of files.

        Args:
            files: of each its path below the folder, where its piece begins, and the bytes of the piece.
            content: the pieces, one after another.

        Raises:
            RequestError: a path, or a number, is wrong.
            DataError: there is more than may be received.
        """
        arriving = self._arriving.get(key)
        if arriving is None:
            raise RequestError("These images are no longer being received. Drop them again.")
        if sum(size for _, _, size in files) != len(content):
            raise RequestError("The pieces are not as long as they say.")
        with arriving.lock, _writing():
            arriving.last, at = time.monotonic(), 0
            for path, offset, size in files:
                self._count(arriving, size, offset == 0)
                _append(arriving.folder / "files", _parts(path, self.limits.endings), offset, content[at : at + size])
                at += size

    def end(self, key: str) -> dict[str, str]:
        """Keep what has arrived; returns the ``source`` that names it, or the ``run`` that became of it.

        Raises:
            UserError: nothing arrived, there is no room, or it is a run or embeddings that cannot be read.
        """
        with self._lock:
            arriving = self._arriving.pop(key, None)
        if arriving is None:
            raise RequestError("These images are no longer being received. Drop them again.")
        files = arriving.folder / "files"
        top = sorted(files.iterdir())
        if not top:
            shutil.rmtree(arriving.folder, ignore_errors=True)
            raise DataError("No images were dropped. Drop a folder of images, images, or a zip file.")
        alone = len(top) == 1 and (top[0].is_dir() or top[0].suffix.lower() == ".zip")
        name = top[0].name if alone else "images"
        folder = arriving.folder.with_suffix("")
        with _writing():
            (top[0] if alone else files).rename(arriving.folder / name)
            if alone:
                shutil.rmtree(files, ignore_errors=True)
            arriving.folder.rename(folder)
        with self._lock:
            self._kept[key] = arriving.visitor
            self._evict(folder)
        runs = self.limits.runs
        run = None if runs is None else self._taken_in(key, folder / name, runs)
        return {"source": f"{sources.PREFIX}/{key}/{name}"} if run is None else {"run": run}

    def cancel(self, key: str) -> None:
        """Remove what has arrived so far."""
        with self._lock:
            arriving = self._arriving.pop(key, None)
        if arriving is not None:
            shutil.rmtree(arriving.folder, ignore_errors=True)

    def _taken_in(self, key: str, dropped: Path, runs: Path) -> str | None:
        """Return the run that became of what arrived, which goes then, and after an error; None: it is kept."""
        try:
            run = taken_in(dropped, runs)
        except BaseException:
            self._remove(key)
            raise
        if run is not None:
            self._remove(key)
        return run

    def _count(self, arriving: _Arriving, size: int, new: bool) -> None:
        arriving.size += size
        arriving.files += new
        if arriving.size > self.limits.size:
            raise DataError(
                f"Up to {self.limits.size / settings.GB:g} GB can be dropped here; these are more. Give fewer images, "
                "or smaller ones."
            )
        if arriving.files > self.limits.files:
            raise DataError(f"Up to {self.limits.files:,} files can be dropped here; put more of them into a zip file.")

    def _make_room_for(self, visitor: str) -> None:
        """Remove the oldest folders of a visitor who has as many as are allowed."""
        if self.limits.held is None:
            return
        arriving = [key for key, each in self._arriving.items() if each.visitor == visitor]
        if len(arriving) >= self.limits.held:
            raise DataError("Images of yours are still being received; wait until they have arrived, or cancel that.")
        kept = [key for key, of in self._kept.items() if of == visitor]
        for key in kept[: max(0, len(kept) + len(arriving) + 1 - self.limits.held)]:
            self._remove(key)

    def _remove(self, key: str) -> None:
        home = sources.home()
        self._kept.pop(key, None)
        if home is not None:
            shutil.rmtree(home / key, ignore_errors=True)

    def _sweep(self, home: Path) -> None:
        """Remove what did not arrive as a whole, of this program and of earlier ones."""
        now = time.monotonic()
        for key, each in list(self._arriving.items()):
            if now - each.last > ABANDONED:
                del self._arriving[key]
                shutil.rmtree(each.folder, ignore_errors=True)
        for path in home.glob(f"*{_RECEIVED}"):
            if path.stem not in self._arriving and _age(path) > ABANDONED:
                shutil.rmtree(path, ignore_errors=True)

    def _evict(self, new: Path) -> None:
        """Remove what is used least recently until the rest has room; refuse the new one if what is used takes it."""
        kept = sorted((path for path in new.parent.iterdir() if path.suffix != _RECEIVED), key=_age)
        total = 0
        for path in [new, *(path for path in kept if path != new)]:
            total += _size(path)
            if total <= self.limits.total:
                continue
            if _age(path) < self.limits.unused:
                self._remove(new.name)
                raise DataError("There is no room for more images here now. Come back later, or drop fewer.")
            self._remove(path.name)


def _parts(path: str, endings: tuple[str, ...]) -> list[str]:
    """Check the path of a file below its folder, and return its parts.

    Raises:
        RequestError: it leads elsewhere, or is no ordinary name of a file that is received.
    """
    parts = path.split("/")
    odd = any(part in ("", ".", "..") or len(part.encode()) > LONGEST or _ODD.search(part) for part in parts)
    if odd or len(parts) > DEEPEST or Path(parts[-1]).suffix.lower() not in endings:
        known = ", ".join(ending.removeprefix(".") for ending in endings)
        raise RequestError(f"A file of these kinds was needed: {known}; got {path[-80:]!r}.")
    return parts


def _append(folder: Path, parts: Sequence[str], offset: int, content: bytes) -> None:
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | (os.O_CREAT | os.O_EXCL if offset == 0 else 0)
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        if file.seek(0, os.SEEK_END) != offset:
            raise RequestError(f"A piece of {parts[-1]!r} is missing. Drop it again.")
        file.write(content)


@contextmanager
def _writing() -> Iterator[None]:
    """Say in a sentence why something cannot be written."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError, FileNotFoundError) as error:
        raise RequestError("Two of the files have the same name. Rename one, and drop them again.") from error
    except OSError as error:
        if is_full(error):
            raise DiskFullError from error
        raise DataError(f"The images cannot be kept here: {error.strerror or error}.") from error


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
