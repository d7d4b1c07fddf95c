"""The page's own modules, styles and drawings, also below an address that names their version.

What is fetched by that address a browser keeps for good and never asks about again: modules import each other by
relative addresses, so the version holds for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from explorer.server.http import unless_known
from explorer.settings import ASSETS
from trainers.errors import RunError

SHEET = "page.css"
"""Name of the styles of the whole page, which no file holds."""
LONGEST = 200
"""Letters of a name; file systems have no longer ones."""
_NAME = re.compile(r"(?:[a-z_]+/){0,2}[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:js|css|svg|png)")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png"}
_VERSIONED = re.compile(r"v([0-9a-f]{16})/(.*)", re.DOTALL)
_IMPORTS = re.compile(r'^(?:import|export)\b[^;"]*?\bfrom "(\.[^"]+)"', re.MULTILINE)


def _now(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_mtime_ns, about.st_size


class Assets:
    """Reads the files of a folder.

    Args:
        sheet: writes the styles of the whole page, :data:`SHEET`.
    """

    def __init__(self, folder: Path = ASSETS, sheet: Callable[[], str] = str) -> None:
        self._folder = folder.resolve()
        self._sheet = sheet
        self._version = ""  # of what the files hold
        self._seen: dict[Path, tuple[int, int]] = {}  # time of change, bytes
        self._imported: dict[tuple[str, ...], list[str]] = {}  # of this version

    def version(self) -> str:
        """Return the folder in which a page finds the files as they are now."""
        files = sorted(path for path in self._folder.rglob("*.*") if path.suffix in (".js", ".css") and path.is_file())
        seen = {path: _now(path) for path in files}
        if seen != self._seen:
            read = [b"%s %d " % (path.name.encode(), size) + path.read_bytes() for path, (_, size) in seen.items()]
            content = b"".join([self._sheet().encode(), *read])
            self._seen, self._version, self._imported = seen, sha256(content).hexdigest()[:16], {}
        return f"v{self._version}"

    def imported(self, modules: tuple[str, ...]) -> list[str]:
        """Return modules and all that they import, as names below the folder."""
        if modules not in self._imported:
            self._imported[modules] = self._followed(modules)
        return self._imported[modules]

    def _followed(self, modules: Iterable[str]) -> list[str]:
        known: dict[Path, None] = {}
        pending = [self._folder / name for name in modules]
        while pending:
            path = pending.pop()
            if path in known or not path.is_file():
                continue
            known[path] = None
            found = _IMPORTS.findall(path.read_text(encoding="utf-8"))
            pending += [(path.parent / name).resolve() for name in found]
        return [path.relative_to(self._folder).as_posix() for path in known]

    async def answer(self, request: Request) -> Response:
        """Answer with a file; it is small and was read before, so no thread is needed."""
        name, kept = request.path_params["name"], False
        if versioned := _VERSIONED.fullmatch(name):
            kept, name = versioned[1] == self._version, versioned[2]
        path = self._folder / name
        if name == SHEET:
            kept = self.version() == f"v{versioned[1]}" if versioned else False
            reply, version = Response(self._sheet(), media_type=_TYPES[".css"]), self._version
        elif len(name) > LONGEST or not _NAME.fullmatch(name) or not path.is_file():
            raise RunError(f"There is no asset {name[:80]!r}.")
        else:
            changed, size = _now(path)
            kept = kept and self._seen.get(path) == (changed, size)  # or else it is of a later version
            version = f"{changed:x}-{size:x}"
            reply = Response(path.read_bytes(), media_type=_TYPES[path.suffix])
        if not kept:
            return unless_known(request, version, reply)
        reply.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return reply
