"""Photographs that visitors send: checked when they arrive, kept as files for a while, and opened by their paths."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from explorer.server.http import GoneError, RequestError
from explorer.server.image_files import is_heavy, lightened, shown_as_png
from explorer.server.library import MEGABYTE
from explorer.server.turns import Turns
from trainers.data.decode import decode_query
from trainers.data.image_file import ACCEPTED, BROWSER_FORMATS, FORMATS, SUFFIXES, open_header
from trainers.data.lru_cache import Cache
from trainers.data.picture import LONGEST, Picture, read_picture

LARGEST = 30 * MEGABYTE
"""Most bytes of an image file that a visitor sends."""
KEPT = 96 * MEGABYTE
"""Bytes of all that is kept; whoever keeps more than the others makes room first."""
MOST = 192
"""Photographs that are kept at most."""
AGE = 2 * 3600.0
"""Seconds after its last use at which a photograph is removed."""
HEAVY = 2 * MEGABYTE
"""A larger file is kept as a smaller one, as is one of many pixels: each use unpacks it again."""
SIDE = 1024
"""Shorter side of what is kept of a heavy one, pixels; encoders take at most a half of it."""
_NAMED, _WHOLE = "photograph", "original"
_PREFIX = "photographs-"
_REF = re.compile(r"[0-9a-f]{32}")
_GONE = "Your image is no longer kept here. Choose the file again."


@dataclass(kw_only=True, eq=False)
class _Photograph:
    """A file that the browser shows, and beside it the one that is read, where browsers cannot show that.

    Attributes:
        used: when it was last asked for, monotonic seconds.
    """

    path: Path
    whole: Path
    size: int
    used: float = field(default_factory=time.monotonic)


class Photographs:
    """Keeps the photographs used last, of each visitor a share, each in a folder whose name cannot be guessed.

    Args:
        root: folder whose files Gradio serves and takes back; a folder is made in it.
        turns: in which images are unpacked.
    """

    def __init__(self, root: Path, turns: Turns) -> None:
        self.turns = turns
        self._root = root
        self._folder: Path | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        least = KEPT // MOST
        self._kept: Cache[_Photograph] = Cache(
            limit=KEPT, cost=lambda kept: max(least, kept.size), dropped=lambda kept: _removed(kept.path.parent)
        )

    def add(self, data: bytes, name: str = "", visitor: str = "") -> Path:
        """Keep an image file, and return where the one lies that browsers can show.

        Args:
            name: that the visitor's file has, if any.
            visitor: whose share of the room it takes.

        Raises:
            DataError: it is no image that can be used; says why.
        """
        if Path(name).suffix.lower() not in ("", *SUFFIXES):
            raise RequestError(f"This file is not an image that can be read. Give a {ACCEPTED} file.")
        with self.turns.reading(visitor, data):
            decode_query(data, channels=3, side=16)
            whole = lightened(data, SIDE) if len(data) > HEAVY or is_heavy(data) else data
            form = _form(whole)
            shown = whole if form in BROWSER_FORMATS else shown_as_png(whole)
        photograph = self._written(whole, form, shown)
        self._kept.get(photograph.path.parent.name, lambda: photograph, visitor)
        self._expect()
        return photograph.path

    def data(self, path: str) -> bytes:
        """Return the content of a photograph.

        Args:
            path: that :meth:`add` returned; from a browser, and not trusted.

        Raises:
            GoneError: there is none, or no longer.
        """
        folder = Path(path).parent
        kept = self._kept.find(folder.name) if _REF.fullmatch(folder.name) else None
        if kept is None or str(kept.path) != path:
            raise GoneError(_GONE)
        kept.used = time.monotonic()
        try:
            return kept.whole.read_bytes()
        except OSError as error:
            raise GoneError(_GONE) from error

    def opened(self, path: str, visitor: str = "", longest: int = LONGEST) -> Picture:
        """Return the pixels of a photograph, upright RGB, the longer side at most ``longest``.

        Raises:
            GoneError: as :meth:`data`.
            DataError: it is too small, or its turn did not come.
        """
        data = self.data(path)
        with self.turns.turn(visitor):  # checked when it came
            return read_picture(data, longest)

    def sweep(self) -> None:
        """Remove what was not used for :data:`AGE`."""
        oldest = time.monotonic() - AGE
        for kept in self._kept.kept():
            if kept.used <= oldest:
                self._kept.drop(kept.path.parent.name)
        with self._lock:
            self._timer = None
        if self._kept.kept():
            self._expect()

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            folder, self._folder = self._folder, None
        self._kept.clear()
        if folder is not None:
            _removed(folder)

    def _written(self, whole: bytes, form: str, shown: bytes) -> _Photograph:
        folder = self._home() / secrets.token_hex(16)
        folder.mkdir(mode=0o700, parents=True)
        path = folder / f"{_NAMED}{'.png' if shown is not whole else _suffix(form)}"
        path.write_bytes(shown)
        if shown is whole:
            return _Photograph(path=path, whole=path, size=len(whole))
        beside = folder / _WHOLE
        beside.write_bytes(whole)
        return _Photograph(path=path, whole=beside, size=len(whole) + len(shown))

    def _home(self) -> Path:
        """Return the folder, made when it is needed; those that programs left behind that were killed are removed."""
        with self._lock:
            if self._folder is None:
                self._root.mkdir(parents=True, exist_ok=True)
                for left in self._root.glob(f"{_PREFIX}*"):
                    if time.time() - left.stat().st_mtime > 24 * 3600:
                        _removed(left)
                self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._root)).resolve()
            return self._folder

    def _expect(self) -> None:
        """Have what is kept looked through after a while."""
        with self._lock:
            if self._timer is None and self._folder is not None:
                self._timer = threading.Timer(AGE / 8, self.sweep)
                self._timer.daemon = True
                self._timer.start()


def _form(data: bytes) -> str:
    with open_header(data) as image:
        return str(image.format)


def _suffix(form: str) -> str:
    return FORMATS["JPEG" if form == "MPO" else form][0]


def _removed(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
