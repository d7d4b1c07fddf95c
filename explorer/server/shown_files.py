"""Images of the server's own that Gradio's components show: files in a folder that Gradio serves, those used last."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from explorer.server.library import MEGABYTE
from trainers.data.lru_cache import Cache

KEPT = 64 * MEGABYTE
_PREFIX = "shown-"
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class _File:
    path: Path
    size: int


class ShownFiles:
    """Writes each image once. Gradio copies no file that lies here, so that all of them together are bounded.

    Args:
        root: folder whose files Gradio serves; a folder is made in it.
    """

    def __init__(self, root: Path, limit: int = KEPT) -> None:
        self._root = root
        self._folder: Path | None = None
        self._lock = threading.Lock()
        self._kept: Cache[_File] = Cache(
            limit=limit,
            cost=lambda file: file.size,
            dropped=lambda file: shutil.rmtree(file.path.parent, ignore_errors=True),
            least=1,
        )

    def path(self, key: str, name: str, kind: str, make: Callable[[], bytes]) -> str:
        """Return the file of an image, written now if it is not there.

        Args:
            key: equal for equal images.
            name: what the file is called, in words.
            kind: its ending.
        """
        mark = hashlib.blake2b(f"{key} {name}".encode(errors="replace"), digest_size=16).hexdigest()

        def written() -> _File:
            folder = self._home() / mark
            folder.mkdir(parents=True, exist_ok=True)
            path, content = folder / f"{_ODD.sub('-', name.lower()).strip('-')[:60] or 'image'}.{kind}", make()
            path.write_bytes(content)
            return _File(path=path, size=len(content))

        return str(self._kept.get(mark, written).path)

    def close(self) -> None:
        """Remove everything."""
        self._kept.clear()
        with self._lock:
            folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _home(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._root.mkdir(parents=True, exist_ok=True)
                self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._root)).resolve()
            return self._folder
